import type { TestTls } from './test-cluster.js';

/** Arguments of a server that requires TLS of everybody, other servers included. */
export function tlsArguments({ caFile, serverFile, clientFile, allowsOtherHostNames = false }: TestTls): string[] {
  const files = ['--tlsCertificateKeyFile', serverFile, '--tlsCAFile', caFile];
  return [
    '--tlsMode',
    'requireTLS',
    ...files,
    ...(clientFile === undefined ? ['--tlsAllowConnectionsWithoutCertificates'] : []),
    ...(allowsOtherHostNames ? ['--tlsAllowInvalidHostnames'] : []),
  ];
}

/** A connection string of such a server, with the files of its clients. */
export function withTls(connectionString: string, tls: TestTls | undefined): string {
  if (tls === undefined) return connectionString;
  const options = new URLSearchParams({
    tls: 'true',
    tlsCAFile: tls.caFile,
    ...(tls.clientFile !== undefined && { tlsCertificateKeyFile: tls.clientFile }),
    ...(tls.allowsOtherHostNames === true && { tlsAllowInvalidHostnames: 'true' }),
  });
  return `${connectionString}${connectionString.includes('?') ? '&' : '?'}${options.toString()}`;
}
