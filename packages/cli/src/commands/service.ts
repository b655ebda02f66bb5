import { ContractClient } from '@convoy/api/client/contract-client';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Option, type Command } from 'commander';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { tokenOf, type TokenOptions } from './service-token.js';

/** Default address of a coordinator. */
const defaultUrl = 'http://127.0.0.1:27180';

/** The service that a command calls. */
export interface ServiceOptions extends TokenOptions {
  url: string;
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
    .option('--token-file <file>', 'file with the bearer token (env: CONVOY_TOKEN_FILE)');
}

/** @param options an address without a scheme, such as `localhost:27180`, means HTTP */
export function clientOf({ url, ...options }: ServiceOptions): ContractClient {
  const token = tokenOf(options);
  return new ContractClient(/^[a-z]+:\/\//i.test(url) ? url : `http://${url}`, token === undefined ? {} : { token });
}

/** Progress of the fleet from a coordinator, or the contract's fields from an instance. */
export async function readProgress(client: ContractClient, signal?: AbortSignal): Promise<ShownProgress> {
  const call = signal === undefined ? {} : { signal };
  try {
    return (await client.fleetProgress(call)).progress;
  } catch (error) {
    if (!(error instanceof ConvoyError && error.error === 'unexpectedReply')) throw error;
    return (await client.progress(call)).progress;
  }
}
