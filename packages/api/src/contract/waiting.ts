import { z } from 'zod';
import { commandNames } from './commands.js';

/** An instance that has not taken a command of the whole fleet, which is recorded for it. */
export const waitingSchema = z
  .object({
    instance: z.string().describe('The instance that has not taken the command.'),
    command: z.enum(commandNames).describe('The recorded command.'),
    description: z.string().describe('Why the instance has not taken it, and what to do.'),
  })
  .describe('A recorded command that an instance takes by itself once it can.');

/** An instance that has not taken a command of the whole fleet. */
export type Waiting = z.output<typeof waitingSchema>;

/** One entry as text, for lists and warnings. */
export function waitingText({ instance, command, description }: Waiting): string {
  return `WAITING for ${instance} to ${command}: ${description}`;
}
