import { commandNames, parseCommandBody } from '../contract/commands.js';
import type { CommandName } from '../contract/commands.js';
import { parseStartRequest } from '../contract/parse-start-request.js';
import { ConvoyError } from '../errors/convoy-error.js';
import type { Acceptance, ContractService } from './contract-service.js';

/**
 * Checks a command's name and body and passes it to the service, whether it came over HTTP or through Redis.
 * @param body parsed JSON; undefined and null count as `{}`
 * @param commandId id of a command for the whole fleet; undefined for one to this instance alone
 * @param awaited_ms of a commit: how long its sender still waits
 * @throws ConvoyError `invalidRequest` for an unknown name or an invalid body, or what the service throws
 */
export async function acceptCommand(
  service: Pick<ContractService, CommandName>,
  name: CommandName,
  body: unknown,
  commandId?: string,
  awaited_ms?: number,
): Promise<Acceptance> {
  if (!commandNames.includes(name)) throw new ConvoyError('invalidRequest', 'name: is not a command');
  if (name === 'start') return service.start(parseStartRequest(body ?? {}), commandId);
  parseCommandBody(body ?? {});
  return name === 'commit' ? service.commit(commandId, awaited_ms) : service[name](commandId);
}
