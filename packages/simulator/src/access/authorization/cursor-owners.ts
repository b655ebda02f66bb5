import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';

/** Cursors that are remembered; the oldest are forgotten first, and are then everybody's who knows their number. */
const ownersMax = 100_000;

/** Who opened which cursor: only he may go on reading it. */
export class CursorOwners {
  readonly #owners = new Map<string, string>();

  /** Remembers the cursor that a reply opens, and forgets the one that a reply ends. */
  note(request: CommandRequest, reply: Doc, owner: string): void {
    const cursor = reply.get('cursor');
    const id = cursor instanceof Map ? cursor.get('id') : undefined;
    if (!(id instanceof Long)) return;
    if (id.isZero()) {
      if (request.name === 'getMore') this.#owners.delete(textOf(request.body.get('getMore')));
      return;
    }
    this.#owners.set(id.toString(), owner);
    if (this.#owners.size > ownersMax) this.#owners.delete(this.#owners.keys().next().value ?? '');
  }

  /** @throws CommandError 13 when somebody else opened the cursor that a `getMore` names */
  check(request: CommandRequest, owner: string): void {
    const id = textOf(request.body.get(request.name));
    const opened = this.#owners.get(id);
    if (opened !== undefined && opened !== owner) {
      throw new CommandError(13, 'Unauthorized', `cursor id ${id} was not created by the authenticated user`);
    }
  }

  /** True when somebody else opened one of the cursors that a `killCursors` names. */
  concernsOthers(request: CommandRequest, owner: string): boolean {
    const ids = request.body.get('cursors');
    return (Array.isArray(ids) ? ids : []).some((id) => (this.#owners.get(textOf(id)) ?? owner) !== owner);
  }
}

function textOf(value: Value | undefined): string {
  return value instanceof Long ? value.toString() : '';
}
