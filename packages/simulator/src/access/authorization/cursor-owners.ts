import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';

/** Bound of recorded cursors. The oldest are dropped first, and then belong to every caller who knows their number. */
const ownersMax = 100_000;

/** Which user opened which cursor: only that user may read on. */
export class CursorOwners {
  readonly #owners = new Map<string, string>();

  /** Records the cursor that a reply opens, and drops the one that a reply closes. */
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

  /** @throws CommandError 13 when another user opened the cursor of a `getMore` */
  check(request: CommandRequest, owner: string): void {
    const id = textOf(request.body.get(request.name));
    const opened = this.#owners.get(id);
    if (opened !== undefined && opened !== owner) {
      throw new CommandError(13, 'Unauthorized', `cursor id ${id} was not created by the authenticated user`);
    }
  }

  /** True when another user opened one of the cursors of a `killCursors`. */
  concernsOthers(request: CommandRequest, owner: string): boolean {
    const ids = request.body.get('cursors');
    return (Array.isArray(ids) ? ids : []).some((id) => (this.#owners.get(textOf(id)) ?? owner) !== owner);
  }
}

function textOf(value: Value | undefined): string {
  return value instanceof Long ? value.toString() : '';
}
