import type { Socket } from 'node:net';
import { packFrame } from './compression.js';
import type { LinkFaults } from '../faults/link-faults.js';

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
   * @param compressed whether the client's message was
   * @param command name of the answered command
   * @returns false when a fault cut the connection within it
   */
  async send(prefix: Buffer, body: Buffer, compressed: boolean, command: string): Promise<boolean> {
    if (this.gone.aborted) return true;
    const parts = compressed ? [packFrame(Buffer.concat([prefix, body]))] : [prefix, body];
    if (this.faults.active) return this.faults.send(this.socket, Buffer.concat(parts), command, this.gone);
    const drained = this.#writeAll(parts);
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
