"""A peer that is not the right one: exit code 3 and a reason on both sides, nothing written."""

import socket
import ssl
import struct
import subprocess
import sys
import threading
import unittest

from product import PATIENCE, Ended, Job, ProductTest, binary

OPENING = struct.Struct("<4sHBB32s")  # magic, version, connection, connections, session
# magic, version, lane, flags, frame, controls, frame bytes, offset, bytes
FRAGMENT = struct.Struct("<4sHBBQQQQI")
HEADER = struct.Struct("<4sHBBQQQ")  # magic, version, type, flags, body bytes, sequence, checksum
HELLO, REFUSAL = 1, 11
CONNECTIONS = 4  # the default


def opening(connection: int, session: bytes = bytes(32), version: int = 2) -> bytes:
    return OPENING.pack(b"HPIN", version, connection, CONNECTIONS, session)


def fragment(
    version: int = 2, kind: int = HELLO, size: int = HEADER.size, magic: bytes = b"HPIN"
) -> bytes:
    """The first fragment of a frame without a body, which claims to have so many bytes."""
    head = FRAGMENT.pack(magic, version, 0, 0, 0, 0, size, 0, HEADER.size)
    return head + HEADER.pack(b"HPIN", 2, kind, 0, 0, 0, 0)


def receive_exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def receive_fragment(peer: socket.socket) -> bytes:
    head = receive_exactly(peer, FRAGMENT.size)
    return head + receive_exactly(peer, FRAGMENT.unpack(head)[-1])


def kind_in(data: bytes) -> int:
    """The message type, if the frame's header is in this fragment."""
    return data[FRAGMENT.size + 6] if FRAGMENT.unpack_from(data)[-2] == 0 else 0


def refusal_from(peer: socket.socket) -> str:
    """What the peer's last word says."""
    while True:
        data = receive_fragment(peer)
        if kind_in(data) == REFUSAL:
            return data[FRAGMENT.size + HEADER.size :].decode(errors="replace")


def dial(port: int) -> list[socket.socket]:
    """All connections of a link to the cloud, opened."""
    peers, session = [], bytes(32)
    for connection in range(CONNECTIONS):
        peers.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
        peers[-1].sendall(opening(connection, session))
        session = OPENING.unpack(receive_exactly(peers[-1], OPENING.size))[-1]
    return peers


def accept(server: socket.socket) -> list[socket.socket]:
    """The same from the edge."""
    peers = []
    for connection in range(CONNECTIONS):
        peers.append(server.accept()[0])
        peers[-1].settimeout(PATIENCE)
        receive_exactly(peers[-1], OPENING.size)
        peers[-1].sendall(opening(connection, b"s" * 32))
    return peers


class Peers(ProductTest):
    def assert_nothing_written(self, *jobs: Job) -> None:
        for job in jobs:
            self.assertFalse(job.output.exists(), job.output)

    def both(self, edge_job: Job, cloud_job: Job) -> tuple[Ended, Ended]:
        cloud, edge = self.start("cloud", cloud_job.file), self.start("edge", edge_job.file)
        ended = edge.wait(), cloud.wait()
        for site, outcome in zip(("edge", "cloud"), ended, strict=True):
            print(f"  {site}: {outcome.error()}", file=sys.stderr)
        return ended

    def refused(self, changes: dict[str, object], at_edge: tuple, at_cloud: tuple) -> None:
        job = self.job(changes)
        edge, cloud = self.both(job, job)
        self.assert_error(edge, 3, *at_edge)
        self.assert_error(cloud, 3, *at_cloud)
        self.assert_nothing_written(job)

    def test_another_authority(self):
        other = self.folder / "other-keys"
        subprocess.run([binary("hairpin"), "keys", other], check=True, capture_output=True)
        both = "authority", "hairpin keys"
        self.refused({"edge.keys": str(other / "edge")}, both, both)

    def test_expired(self):
        words = "expired", "hairpin keys"
        for site, other in ("edge", "cloud"), ("cloud", "edge"):
            expired = {f"{site}.keys": str(self.keys / "expired" / site)}
            own, peer = ("this", *words), (f"the {site}'s certificate", *words)
            self.refused(expired, *((own, peer) if site == "edge" else (peer, own)))

    def test_the_other_role(self):
        good = self.keys / "good"
        words = "role", "edge.keys"
        self.refused({"edge.keys": str(good / "cloud")}, words, words)
        words = "role", "cloud.keys"
        self.refused({"cloud.keys": str(good / "edge")}, words, words)

    def test_no_certificate_and_no_tls(self):
        job = self.job()
        cloud = self.start("cloud", job.file)
        cloud.wait_to_say("waiting for an edge")
        address = "127.0.0.1", job.port
        with socket.create_connection(address, PATIENCE) as stranger:
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while stranger.recv(4096):
                pass
        cloud.wait_to_say("still waiting for the edge")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(address, PATIENCE) as plain:
            try:
                with context.wrap_socket(plain) as peer:
                    peer.recv(1)
            except OSError as refused:
                self.assertIn("CERTIFICATE_REQUIRED", str(refused).upper())
        self.assert_error(cloud.wait(), 3, "the edge showed no certificate", "edge.keys")
        self.assert_nothing_written(job)

    def test_jobs_that_differ(self):
        edge_job = self.job({"train.seed": 7, "optimizer.learning_rate": 0.25})
        cloud_job = self.job({"train.seed": 8, "link.address": f"127.0.0.1:{edge_job.port}"})
        words = (
            'train.seed is "7" at the edge and "8" at the cloud',
            'optimizer.learning_rate is "0.25" at the edge and "0.001" at the cloud',
            "make them agree",
        )
        for ended in self.both(edge_job, cloud_job):
            error = self.assert_error(ended, 3, *words)
            self.assertNotIn("train.steps", error)
        self.assert_nothing_written(edge_job, cloud_job)

    def test_halves_of_two_models(self):
        other = self.folder / "other-model"
        subprocess.run([binary("make_tiny"), "model", other], check=True)
        content = bytearray((other / "model.safetensors").read_bytes())
        content[-1] ^= 1
        (other / "model.safetensors").write_bytes(content)
        words = ("model weights (SHA-256)",)
        self.refused({"cloud.model": str(other)}, words, words)

    def test_trouble_of_ones_own(self):
        """Found only when the contract is drawn up. The other side isn't told what it is."""
        halves = {site: self.folder / f"{site}-half" for site in ("edge", "cloud")}
        places = [word for site, half in halves.items() for word in (f"--{site}", half)]
        self.run_well("convert", "split", self.model, "--layers", "1,2,1", *places)
        weights = halves["edge"] / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        job = self.job({f"{site}.model": str(half) for site, half in halves.items()})
        edge, cloud = self.both(job, job)
        self.assert_error(edge, 2, str(halves["edge"]), "SHA-256", "split the model again")
        error = self.assert_error(cloud, 3, "the edge stopped because of an error of its own")
        self.assertNotIn(str(self.folder), error)
        self.assert_nothing_written(job)

    WRONG = (
        (fragment(version=9), ("protocol version 9", "version 2", "same release")),
        (fragment(size=1 << 60), (str(1 << 60), "at most")),
        (fragment(kind=77), ("type 77", "same release")),
        (fragment(magic=b"HTTP"), ("HPIN", "link.address")),
        (fragment(), ("damaged", "checksum")),
    )

    def test_wrong_frames_to_the_cloud(self):
        for data, words in self.WRONG:
            job = self.job({"link.insecure_loopback": True})
            cloud = self.start("cloud", job.file)
            cloud.wait_to_say("waiting for an edge")
            peers = dial(job.port)
            peers[0].sendall(data)
            self.assertIn(words[0], refusal_from(peers[0]))
            for peer in peers:
                peer.close()
            self.assert_error(cloud.wait(), 3, *words)
            self.assert_nothing_written(job)

    def test_wrong_frames_to_the_edge(self):
        for data, words in self.WRONG:
            with socket.create_server(("127.0.0.1", 0)) as server:
                server.settimeout(PATIENCE)
                address = "127.0.0.1:%d" % server.getsockname()[1]
                job = self.job({"link.insecure_loopback": True, "link.address": address})
                edge = self.start("edge", job.file)
                peers = accept(server)
            peers[0].sendall(data)
            self.assertIn(words[0], refusal_from(peers[0]))
            for peer in peers:
                peer.close()
            self.assert_error(edge.wait(), 3, *words)
            self.assert_nothing_written(job)

    def test_another_version_at_once(self):
        job = self.job({"link.insecure_loopback": True})
        cloud = self.start("cloud", job.file)
        cloud.wait_to_say("waiting for an edge")
        with socket.create_connection(("127.0.0.1", job.port), PATIENCE) as peer:
            peer.sendall(opening(0, version=1))
            self.assertEqual(OPENING.unpack(receive_exactly(peer, OPENING.size))[1], 2)
        self.assert_error(cloud.wait(), 3, "protocol version 1", "version 2", "same release")
        self.assert_nothing_written(job)

    def test_a_frame_damaged_under_way(self):
        """Between the sites stands a relay that changes one byte of a tensor in the third step."""
        job = self.job({"link.insecure_loopback": True, "train.steps": 100_000})
        cloud = self.start("cloud", job.file)
        cloud.wait_to_say("waiting for an edge")
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE)
            address = "127.0.0.1:%d" % server.getsockname()[1]
            edge = self.start("edge", job.file, f"--set=link.address={address}")
            downs = [server.accept()[0]]
            ups = [socket.create_connection(("127.0.0.1", job.port), PATIENCE)]
            damage = Damage(step=3)
            threads = []
            for number in range(CONNECTIONS):
                if number > 0:
                    downs.append(server.accept()[0])
                    ups.append(socket.create_connection(("127.0.0.1", job.port), PATIENCE))
                for args in ((downs[-1], ups[-1], damage), (ups[-1], downs[-1], None)):
                    threads.append(threading.Thread(target=relay, args=args, daemon=True))
                    threads[-1].start()
        for peer in downs + ups:
            self.addCleanup(peer.close)
        self.assert_error(cloud.wait(), 3, "damaged", "restart both sites")
        self.assert_error(edge.wait(), 3, "the cloud refused", "damaged")
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(len(job.metrics("edge")), 2)
        self.assertFalse((job.output / "edge" / "export").exists())


MANIFEST, TENSOR = 3, 4


class Damage:
    """The first tensor after that many manifests arrives with a bit turned."""

    def __init__(self, step: int):
        self.step, self.manifests, self.done = step, 0, False

    def of(self, data: bytes) -> bytes:
        kind = kind_in(data)
        self.manifests += kind == MANIFEST
        if kind != TENSOR or self.manifests != self.step or self.done:
            return data
        self.done = True
        return data[:-1] + bytes([data[-1] ^ 1])


def relay(source: socket.socket, target: socket.socket, damage: Damage | None) -> None:
    """One way of one connection, fragment by fragment behind the opening."""
    try:
        target.sendall(receive_exactly(source, OPENING.size))
        while True:
            data = receive_fragment(source)
            target.sendall(damage.of(data) if damage else data)
    except (EOFError, OSError):
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    unittest.main()
