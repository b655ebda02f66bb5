import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Document } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { commandOf, type SentCommand, messagesOf, replyOf, requestIdOf, responseToOf } from './wire-messages.js';

type Matches = (command: SentCommand) => boolean;

/** A command that has passed the gate, with what the server has answered so far. */
export interface PassedCommand extends SentCommand {
  reply?: Document;
}

/** Commands that are delayed, as in the buffers of a network. */
export interface Hold {
  /** Waiting commands, each on a connection of its own. Once released they get their replies. */
  readonly waiting: readonly PassedCommand[];
  /** Releases waiting commands and all later ones; they arrive even if their sender is gone. */
  release(): void;
  /** Drops waiting commands with their connections, and keeps holding later ones. */
  lose(): void;
}

class GateHold implements Hold {
  readonly #waiting = new Map<PassedCommand, { go: () => void; lose: (reason: Error) => void }>();
  isOver = false;

  constructor(readonly matches: Matches) {}

  get waiting(): PassedCommand[] {
    return [...this.#waiting.keys()];
  }

  async pass(command: PassedCommand): Promise<void> {
    await new Promise<void>((go, lose) => this.#waiting.set(command, { go, lose }));
  }

  release(): void {
    this.isOver = true;
    for (const { go } of this.#waiting.values()) go();
    this.#waiting.clear();
  }

  lose(): void {
    for (const { lose } of this.#waiting.values()) lose(new Error('lost on the way'));
    this.#waiting.clear();
  }
}

/** Noted commands of one connection whose replies are outstanding, by their request ids. */
class Unanswered {
  readonly #commands = new Map<number, PassedCommand>();
  #onEmpty: (() => void) | undefined;

  add(requestId: number, command: PassedCommand): void {
    this.#commands.set(requestId, command);
  }

  take(reply: Buffer): void {
    const command = this.#commands.get(responseToOf(reply));
    if (command === undefined) return;
    command.reply = replyOf(reply);
    this.#commands.delete(responseToOf(reply));
    if (this.#commands.size === 0) this.#onEmpty?.();
  }

  onceEmpty(act: () => void): void {
    if (this.#commands.size === 0) act();
    else this.#onEmpty = act;
  }
}

/** One connection through the gate. */
interface Link {
  /** Nothing passes any more, in no direction, and neither end hears of it. */
  isCut: boolean;
}

async function answer(server: Socket, client: Socket, unanswered: Unanswered, link: Link): Promise<void> {
  for await (const reply of messagesOf(server)) {
    unanswered.take(reply);
    if (!link.isCut) client.write(reply);
  }
  client.end();
}

/** A proxy between one process and a cluster's router that can delay, drop and record commands. */
export class CommandGate implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #holds = new Set<GateHold>();
  readonly #links = new Set<Link>();
  #note: ((command: PassedCommand) => void) | undefined;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  static async open(cluster: TestCluster): Promise<CommandGate> {
    const [host = '', port = ''] = (/^mongodb:\/\/([^/,?]+)/.exec(cluster.connectionString)?.[1] ?? '').split(':');
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const gate = new CommandGate(server, (server.address() as AddressInfo).port);
    server.on('connection', (client) => gate.#pass(client, connect(Number(port), host)));
    return gate;
  }

  /** The cluster behind the gate. */
  way(cluster: TestCluster): TestCluster {
    return {
      ...cluster,
      connectionString: `mongodb://127.0.0.1:${this.port}/`,
      shardConnectionString: (id) => cluster.shardConnectionString(id),
    };
  }

  /** What waits in any of the holds. */
  get held(): readonly SentCommand[] {
    return [...this.#holds].flatMap(({ waiting }) => waiting);
  }

  /** Delays matching commands from now on. */
  hold(matches: Matches): Hold {
    const hold = new GateHold(matches);
    this.#holds.add(hold);
    return hold;
  }

  /** Records every matching command that passes from now on, in a single list. */
  record(matches: Matches): readonly PassedCommand[] {
    const passed: PassedCommand[] = [];
    this.#note = (command) => {
      if (matches(command)) passed.push(command);
    };
    return passed;
  }

  /**
   * Cuts all present connections as a firewall does that forgets them: without a word. New ones pass.
   * @returns how many there were
   */
  cut(): number {
    for (const link of this.#links) link.isCut = true;
    return this.#links.size;
  }

  #pass(client: Socket, server: Socket): void {
    const link: Link = { isCut: false };
    this.#links.add(link);
    client.once('close', () => this.#links.delete(link));
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => this.#sockets.delete(socket));
    }
    const unanswered = new Unanswered();
    void this.#forward(client, server, unanswered, link).then(
      // A server drops the reply of a connection that its client has ended.
      () => unanswered.onceEmpty(() => server.end()),
      () => [client, server].forEach((socket) => socket.destroy()),
    );
    void answer(server, client, unanswered, link).catch(() => client.destroy());
  }

  async #forward(client: Socket, server: Socket, unanswered: Unanswered, link: Link): Promise<void> {
    for await (const message of messagesOf(client)) {
      const command = commandOf(message);
      if (command !== null) {
        const wasHeld = await this.#untilFree(command);
        this.#note?.(command);
        if (wasHeld || this.#note !== undefined) unanswered.add(requestIdOf(message), command);
      }
      if (!link.isCut) server.write(message);
    }
  }

  /** @returns whether the command was delayed */
  async #untilFree(command: PassedCommand): Promise<boolean> {
    let wasHeld = false;
    for (const hold of this.#holds) {
      if (hold.isOver) this.#holds.delete(hold);
      else if (hold.matches(command)) {
        wasHeld = true;
        await hold.pass(command);
      }
    }
    return wasHeld;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const hold of this.#holds) hold.lose();
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
