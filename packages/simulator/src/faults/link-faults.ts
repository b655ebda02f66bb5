import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Where a connection is cut: after some bytes of one direction, or within one answer. */
interface Cut {
  readonly direction: 'received' | 'sent';
  bytesLeft: number;
  /** Only the answer to this command counts. Undefined for all. */
  readonly command: string | undefined;
}

/** How often a throttled connection sends a piece. */
const pieceMs = 20;
const millisecondsPerSecond = 1000;

/**
 * The faults of the network between a node and its clients. They apply to all connections of the node, open ones
 * included. Every cut happens once. Slowness lasts until it is lifted.
 */
export class LinkFaults {
  /** Milliseconds by which every answer is delayed. */
  latencyMs = 0;
  /** Bytes that each connection sends in a second at most. */
  bytesPerSecond = Infinity;
  #cut: Cut | undefined;

  /** True while anything is set, so that healthy connections take the short path. */
  get active(): boolean {
    return this.#cut !== undefined || this.latencyMs > 0 || this.bytesPerSecond !== Infinity;
  }

  /**
   * Cuts the connection that crosses a number of bytes, counted over all connections from now on.
   * @param direction as the node sees it: a message `received` in part is never executed; one `sent` in part has taken
   * effect
   */
  cutAfterBytes(bytes: number, direction: Cut['direction'] = 'sent'): void {
    this.#cut = { direction, bytesLeft: bytes, command: undefined };
  }

  /**
   * Cuts the connection within the next answer to a command, after this many of its bytes. The command has taken
   * effect.
   */
  cutWithinReply(command: string, bytes: number): void {
    this.#cut = { direction: 'sent', bytesLeft: bytes, command };
  }

  /** Lifts all faults. */
  clear(): void {
    this.latencyMs = 0;
    this.bytesPerSecond = Infinity;
    this.#cut = undefined;
  }

  /** How many of the received bytes the node still gets. Fewer than all means that the connection is cut after them. */
  admitted(bytes: number): number {
    return this.#crossing('received', bytes, undefined);
  }

  /** Sends an answer subject to the faults. False when the connection was cut. */
  async send(socket: Socket, bytes: Buffer, command: string, signal: AbortSignal): Promise<boolean> {
    if (this.latencyMs > 0) await delay(this.latencyMs, undefined, { signal }).catch(() => undefined);
    const whole = this.#crossing('sent', bytes.length, command);
    await this.#throttled(socket, bytes.subarray(0, whole), signal);
    if (whole === bytes.length) return true;
    await flushed(socket);
    return false;
  }

  #crossing(direction: Cut['direction'], bytes: number, command: string | undefined): number {
    const cut = this.#cut;
    if (cut?.direction !== direction || (cut.command !== undefined && cut.command !== command)) return bytes;
    if (bytes < cut.bytesLeft) {
      if (cut.command !== undefined) this.#cut = undefined;
      cut.bytesLeft -= bytes;
      return cut.command === undefined ? bytes : bytes - 1;
    }
    this.#cut = undefined;
    return Math.min(bytes - 1, cut.bytesLeft);
  }

  async #throttled(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
    let sent = 0;
    while (sent < bytes.length && !signal.aborted) {
      const fraction = (this.bytesPerSecond * pieceMs) / millisecondsPerSecond;
      const piece = bytes.subarray(sent, sent + Math.max(1, Math.floor(Math.min(fraction, bytes.length))));
      socket.write(piece);
      sent += piece.length;
      if (sent < bytes.length) await delay(pieceMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Resolves when everything written so far has been handed to the network, or the socket has failed. */
function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.write(Buffer.alloc(0), () => resolve());
  });
}
