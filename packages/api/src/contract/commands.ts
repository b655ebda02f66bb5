import { z } from 'zod';
import { parseBody } from './invalid-request.js';

/** The commands of the contract, each `POST /api/v1/<name>`. */
export const commandNames = ['start', 'pause', 'resume', 'commit', 'reverse'] as const;

/** Name of a command. */
export type CommandName = (typeof commandNames)[number];

/** The body of pause, resume, commit and reverse: `{}`. */
export const commandBodySchema = z.strictObject({}).describe('These commands have no options.');

/** @throws ConvoyError `invalidRequest` when the body is not an empty document */
export function parseCommandBody(body: unknown): void {
  parseBody(commandBodySchema, body);
}
