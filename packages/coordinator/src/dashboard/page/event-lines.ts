/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Maximum characters of an incomplete event; a longer one is not from this service. */
const waitingMax = 8 * 1024 * 1024;

/** Assembles events from the pieces of a stream. */
export class EventLines {
  #waiting = '';

  /** The events that this piece completes. */
  take(piece: string): ServerEvent[] {
    this.#waiting += piece;
    const parts = this.#waiting.split('\n\n');
    this.#waiting = parts.pop() ?? '';
    if (this.#waiting.length > waitingMax) throw new Error('an event does not end');
    return parts.flatMap((part) => {
      const lines = part.split('\n').filter((line) => !line.startsWith(':'));
      const data = valueOf(lines, 'data');
      return data === '' ? [] : [{ event: valueOf(lines, 'event'), data }];
    });
  }
}

function valueOf(lines: readonly string[], name: string): string {
  return lines
    .filter((line) => line.startsWith(`${name}: `))
    .map((line) => line.slice(name.length + 2))
    .join('\n');
}
