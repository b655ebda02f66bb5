import type { Socket } from 'node:net';
import { packFrame } from './compression.js';
import type { LinkFaults } from './link-faults.js';
import { messageChecksum } from './op-msg.js';

/** The form of the answers: that of the client's message. */
export interface ReplyForm {
  readonly compressorId: number | undefined;
  readonly checksum: boolean;
}

export const plainForm: ReplyForm = { compressorId: undefined, checksum: false };

/** Writes the answers of one connection, and waits while the client does not read. */
export class ReplyWriter {
  #id = 0;

  constructor(
    private readonly socket: Socket,
    private readonly faults: LinkFaults,
    private readonly gone: AbortSignal,
  ) {}

  /** A number for the next message. */
  nextId(): number {
    this.#id = (this.#id + 1) & 0x7fffffff;
    return this.#id;
  }

  /**
   * Sends a message.
   * @param command name of the answered command
   * @returns false when a fault cut the connection within it
   */
  async send(prefix: Buffer, body: Buffer, form: ReplyForm, command: string): Promise<boolean> {
    if (this.gone.aborted) return true;
    const parts = form.checksum ? withChecksum(prefix, body) : [prefix, body];
    if (this.faults.active) return this.faults.send(this.socket, packed(parts, form), command, this.gone);
    const drained = form.compressorId === undefined ? this.#writeAll(parts) : this.socket.write(packed(parts, form));
    if (!drained) await this.#drain();
    return true;
  }

  #writeAll(parts: readonly Buffer[]): boolean {
    let drained = true;
    this.socket.cork();
    for (const part of parts) drained = this.socket.write(part);
    this.socket.uncork();
    return drained;
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.socket.off('drain', done);
        this.gone.removeEventListener('abort', done);
        resolve();
      };
      this.socket.once('drain', done);
      this.gone.addEventListener('abort', done);
    });
  }
}

function withChecksum(prefix: Buffer, body: Buffer): Buffer[] {
  const message = Buffer.concat([prefix, body]);
  return [message, messageChecksum(message)];
}

function packed(parts: readonly Buffer[], { compressorId }: ReplyForm): Buffer {
  const whole = Buffer.concat(parts);
  return compressorId === undefined ? whole : packFrame(whole, compressorId);
}
