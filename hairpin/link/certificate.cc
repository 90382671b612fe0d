#include "hairpin/link/certificate.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstring>

#include "hairpin/base/bytes.h"
#include "hairpin/base/check.h"

namespace hairpin::link {
namespace {

template <auto function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;

constexpr long kDay = 24 * 60 * 60;
constexpr long kGrace = 60 * 60;

void require(bool done, const char* what) { HAIRPIN_CHECK(done, "OpenSSL: {} failed", what); }

Key make_key() {
  Key key(EVP_EC_gen("P-256"));
  require(key != nullptr, "making a key");
  return key;
}

void set_random_serial(X509* certificate) {
  const Number serial(BN_new());
  require(serial && BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr,
          "making a serial number");
}

void set_name(X509_NAME* name, const std::string& common_name) {
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(common_name.c_str()),
                                     -1, -1, 0) == 1,
          "naming a certificate");
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1,
          "extending a certificate");
}

Certificate start_certificate(const std::string& name, EVP_PKEY* key, Validity validity) {
  Certificate certificate(X509_new());
  auto* x = certificate.get();
  require(x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 && X509_set_pubkey(x, key) == 1,
          "making a certificate");
  set_random_serial(x);
  set_name(X509_get_subject_name(x), name);
  const long start = validity.starts_in_days * kDay;
  X509_gmtime_adj(X509_getm_notBefore(x), start - kGrace);
  X509_gmtime_adj(X509_getm_notAfter(x), start + validity.days * kDay);
  return certificate;
}

void sign(X509* certificate, EVP_PKEY* key) {
  require(X509_sign(certificate, key, EVP_sha256()) > 0, "signing a certificate");
}

std::string text_of(const Memory& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(memory.get(), certificate) == 1, "writing a certificate");
  return text_of(memory);
}

std::string pem_of(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "writing a key");
  return text_of(memory);
}

// Never over an existing file, and with its mode from the start.
Result<void> write_new(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return bad_input("{}: cannot be created ({}); choose a new directory", path.string(),
                     std::strerror(errno));
  const auto written = ::write(fd, text.data(), text.size());
  const bool closed = ::close(fd) == 0;
  if (written != static_cast<ssize_t>(text.size()) || !closed)
    return bad_input("{}: cannot be written; look at the disk's free space", path.string());
  return {};
}

}  // namespace

std::string role_uri(wire::Role role) {
  return "urn:hairpin:role:" + std::string(wire::role_name(role));
}

struct CertificateAuthority::Impl {
  Key key;
  Certificate certificate;
};

CertificateAuthority::CertificateAuthority(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CertificateAuthority::CertificateAuthority(CertificateAuthority&&) noexcept = default;
CertificateAuthority::~CertificateAuthority() = default;

CertificateAuthority CertificateAuthority::create(Validity validity) {
  auto impl = std::make_unique<Impl>();
  impl->key = make_key();
  impl->certificate = start_certificate("Hairpin test authority", impl->key.get(), validity);
  auto* x = impl->certificate.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1, "naming an issuer");
  add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(x, x, NID_key_usage, "critical,keyCertSign");
  add_extension(x, x, NID_subject_key_identifier, "hash");
  sign(x, impl->key.get());
  return CertificateAuthority(std::move(impl));
}

Result<void> CertificateAuthority::issue(const std::filesystem::path& directory, wire::Role role,
                                         Validity validity) const {
  const auto key = make_key();
  const auto name = "hairpin " + std::string(wire::role_name(role));
  const auto certificate = start_certificate(name, key.get(), validity);
  auto* x = certificate.get();
  auto* issuer = impl_->certificate.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1, "naming an issuer");
  add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(x, issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(x, issuer, NID_ext_key_usage,
                role == wire::Role::edge ? "clientAuth" : "serverAuth");
  add_extension(x, issuer, NID_subject_alt_name, "URI:" + role_uri(role));
  add_extension(x, issuer, NID_subject_key_identifier, "hash");
  add_extension(x, issuer, NID_authority_key_identifier, "keyid");
  sign(x, impl_->key.get());
  HAIRPIN_CHECK_OK(write_new(directory / "key.pem", pem_of(key.get()), 0600));
  HAIRPIN_CHECK_OK(write_new(directory / "cert.pem", pem_of(x), 0644));
  return write_new(directory / "ca.pem", pem_of(issuer), 0644);
}

}  // namespace hairpin::link
