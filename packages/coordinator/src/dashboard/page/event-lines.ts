/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Characters that may wait for the end of an event; a stream that sends more without one is none of ours. */
const waitingMax = 8 * 1024 * 1024;

/** Puts events together from the pieces in which they arrive. */
export class EventLines {
  #waiting = '';

  /** The events that are complete with this piece. */
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
