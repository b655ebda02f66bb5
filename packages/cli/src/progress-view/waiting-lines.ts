import type { CommandName } from '@convoy/api/contract/commands';

/** Lines after an accepted command: the instances that have not taken it. None when all have. */
export function waitingLines(command: CommandName, waitingFor: readonly string[] = []): string[] {
  if (waitingFor.length === 0) return [];
  return [
    `WAITING for ${waitingFor.join(', ')} to ${command}. The command is recorded:`,
    'each takes it by itself once it runs. Start the processes that are missing;',
    'convoy progress says why each has not taken it.',
  ];
}
