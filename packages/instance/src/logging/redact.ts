/** Connection strings and URLs with a login; up to a space, quote or bracket. */
const secretUrl = /\b(mongodb(?:\+srv)?|rediss?):\/\/[^\s"'<>\\]+/gi;
const loginInUrl = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>\\/@]+@/gi;

/** A line without anything that looks like a connection string or a login in a URL. */
export function redacted(line: string): string {
  return line.replace(secretUrl, '$1://[redacted]').replace(loginInUrl, '$1[redacted]@');
}

/** Fields that are left out at the first two levels of a log entry. */
export const secretFields = [
  'password',
  'token',
  'user',
  'username',
  'userinfo',
  'connectionString',
  'uri',
  'credentials',
].flatMap((name) => [name, `*.${name}`]);
