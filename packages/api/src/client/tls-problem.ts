/** Node.js's codes of certificates that a client does not trust. */
const untrusted = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** Codes of other failures of TLS, with what to do. */
const otherProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate of the service has expired. Renew it.',
  CERT_NOT_YET_VALID: 'The certificate of the service is not valid yet. Compare the clocks of both hosts.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the service is for another host name. Use a name that it contains, or issue another one.',
  EPROTO: 'The service does not answer by TLS as this client does. If it has no TLS, set its address with http://.',
};

/** A failed connection in a sentence when TLS is its reason; undefined otherwise. */
export function tlsProblem(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (untrusted.includes(code))
    return `The certificate of the service is not trusted (${code}). Name its CA with --ca-file or CONVOY_CA_FILE.`;
  return otherProblems[code];
}
