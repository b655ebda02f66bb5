import { commandNames, parseCommandBody } from '../contract/commands.js';
import type { CommandName } from '../contract/commands.js';
import { parseStartRequest } from '../contract/parse-start-request.js';
import { ConvoyError } from '../errors/convoy-error.js';
import type { ContractService } from './contract-service.js';

/**
 * Carries a command out, from wherever it came: its name and its body are checked here.
 * @param body parsed JSON; nothing counts as `{}`
 * @throws ConvoyError `invalidRequest` for a name that is no command, or a body that is not its own; what the service throws
 */
export async function runCommand(service: ContractService, name: string, body: unknown): Promise<void> {
  if (!isCommandName(name)) throw new ConvoyError('invalidRequest', 'name: is no command');
  if (name === 'start') return service.start(parseStartRequest(body ?? {}));
  parseCommandBody(body ?? {});
  return service[name]();
}

function isCommandName(name: string): name is CommandName {
  return (commandNames as readonly string[]).includes(name);
}
