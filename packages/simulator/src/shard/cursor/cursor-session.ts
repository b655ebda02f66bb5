import { CommandError } from '../../node/command.js';

/**
 * Only the session that opened a cursor may read on.
 * @param owner text of that session; undefined for none
 * @throws CommandError 50736, 50737 or 50738
 */
export function refuseForeignSession(id: string, owner: string | undefined, session: string | undefined): void {
  if (owner === session) return;
  if (owner === undefined) {
    throw new CommandError(
      50737,
      'Location50737',
      `Cannot run getMore on cursor ${id}, which was not created in a session, in session ${session ?? ''}`,
    );
  }
  if (session === undefined) {
    throw new CommandError(
      50736,
      'Location50736',
      `Cannot run getMore on cursor ${id}, which was created in session ${owner}, without an lsid`,
    );
  }
  throw new CommandError(
    50738,
    'Location50738',
    `Cannot run getMore on cursor ${id}, which was created in session ${owner}, in session ${session}`,
  );
}
