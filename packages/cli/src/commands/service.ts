import { ContractClient } from '@convoy/api/client/contract-client';
import type { ClientTrust } from '@convoy/api/client/exchange-json';
import { readNamedFile } from '@convoy/api/configuration/named-file';
import { given } from '@convoy/api/contract/given';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { type Command, Option } from 'commander';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { mergeSettings } from '@convoy/api/configuration/setting-sources';

/** Flags that give the token of a service. */
interface TokenOptions {
  token?: string;
  tokenFile?: string;
}

/**
 * The token from flags or the environment, itself or by the file that contains it.
 * @throws ConvoyError `invalidConfiguration`
 */
function tokenOf({ token, tokenFile }: TokenOptions): string | undefined {
  const { values } = mergeSettings(
    { env: process.env, flags: { token, tokenFile } },
    { variables: { token: 'CONVOY_TOKEN' }, kinds: {} },
  );
  return values['token'] as string | undefined;
}

/** Default address of a coordinator. */
const defaultUrl = 'http://127.0.0.1:27180';

/** The service that a command calls. */
export interface ServiceOptions extends TokenOptions {
  url: string;
  /** PEM files for `https:` addresses. */
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}

/** Adds a command that calls a running coordinator or instance. */
export function serviceCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .addOption(
      new Option('--url <url>', 'address of the coordinator, or of an instance').env('CONVOY_URL').default(defaultUrl),
    )
    .option('--token <token>', 'bearer token (env: CONVOY_TOKEN)')
    .option('--token-file <file>', 'file with the bearer token (env: CONVOY_TOKEN_FILE)')
    .addOption(new Option('--ca-file <file>', "CA of the service's certificate").env('CONVOY_CA_FILE'))
    .addOption(new Option('--cert-file <file>', 'certificate of this client').env('CONVOY_CERT_FILE'))
    .addOption(new Option('--key-file <file>', 'key of that certificate').env('CONVOY_KEY_FILE'));
}

/**
 * @param options an address without a scheme, such as `localhost:27180`, means HTTP
 * @throws ConvoyError `invalidConfiguration` for another scheme than HTTP's, and for unreadable files
 */
export function clientOf(options: ServiceOptions): ContractClient {
  const token = tokenOf(options);
  return new ContractClient(addressOf(options.url), { ...given({ token }), trust: trustOf(options) });
}

/**
 * @returns the address with a scheme
 * @throws ConvoyError `invalidConfiguration`, which repeats only the scheme: the rest may hold a password
 */
function addressOf(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase() ?? null;
  if (scheme !== null && scheme !== 'http' && scheme !== 'https')
    throw new ConvoyError(
      'invalidConfiguration',
      `--url must begin with http:// or https://, not with ${scheme}://. Give the address of the coordinator, or ` +
        'of an instance.',
    );
  const address = scheme === null ? `http://${url}` : url;
  if (URL.canParse(address)) return address;
  throw new ConvoyError(
    'invalidConfiguration',
    '--url is not an address. Write it like http://127.0.0.1:27180, with a port from 1 to 65535.',
  );
}

function trustOf({ caFile, certFile, keyFile }: ServiceOptions): ClientTrust {
  const read = (file: string | undefined, flag: string) =>
    file === undefined ? undefined : readNamedFile(file, flag).toString();
  return given({
    ca: read(caFile, '--ca-file'),
    cert: read(certFile, '--cert-file'),
    key: read(keyFile, '--key-file'),
  });
}

/**
 * Waits for a reply that only coordinators give.
 * @param what its name in a sentence, such as `logs`
 * @throws ConvoyError `unknownPath`, which asks for the coordinator's address, when an instance answers
 */
export async function fromCoordinator<Reply>(url: string, what: string, reply: Promise<Reply>): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!isConvoyError(error, 'unknownPath')) throw error;
    const description = `${url} has no ${what}: only coordinators serve that. Set the coordinator's address.`;
    throw new ConvoyError('unknownPath', description, { cause: error });
  }
}

/** Progress of the fleet from a coordinator, or the contract's fields from an instance. */
export async function readProgress(client: ContractClient, signal?: AbortSignal): Promise<ShownProgress> {
  const call = given({ signal });
  try {
    return (await client.fleetProgress(call)).progress;
  } catch (error) {
    if (!isConvoyError(error, 'unexpectedReply')) throw error;
    return (await client.progress(call)).progress;
  }
}
