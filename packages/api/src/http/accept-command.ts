import { commandNames, parseCommandBody } from '../contract/commands.js';
import type { CommandName } from '../contract/commands.js';
import { parseStartRequest } from '../contract/parse-start-request.js';
import { ConvoyError } from '../errors/convoy-error.js';
import type { Acceptance, ContractService } from './contract-service.js';

/**
 * Runs a command from any transport, after checking its name and body.
 * @param body parsed JSON; undefined counts as `{}`
 * @param commandId of a command for the whole fleet
 * @param awaited_ms how long its sender still waits
 * @throws ConvoyError `invalidRequest` for an unknown name or an invalid body; whatever the service throws
 */
export async function runCommand(
  service: Pick<ContractService, CommandName>,
  name: string,
  body: unknown,
  commandId?: string,
  awaited_ms?: number,
): Promise<Acceptance> {
  if (!isCommandName(name)) throw new ConvoyError('invalidRequest', 'name: is not a command');
  if (name === 'start') return service.start(parseStartRequest(body ?? {}), commandId);
  parseCommandBody(body ?? {});
  return name === 'commit' ? service.commit(commandId, awaited_ms) : service[name](commandId);
}

function isCommandName(name: string): name is CommandName {
  return (commandNames as readonly string[]).includes(name);
}
