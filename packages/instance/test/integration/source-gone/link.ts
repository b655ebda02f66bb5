import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A link to a router, which can be cut and restored at the same address. */
export class Link implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;

  private constructor(
    private readonly target: URL,
    private port: number,
  ) {}

  /** @param connectionString of a router */
  static async open(connectionString: string): Promise<Link> {
    const link = new Link(new URL(connectionString), 0);
    await link.restore();
    return link;
  }

  /** The router's address through the link. Clients that find it cut or frozen wait for five seconds instead of ten. */
  get connectionString(): string {
    const url = new URL(this.target.href);
    url.port = String(this.port);
    for (const limit of ['serverSelectionTimeoutMS', 'connectTimeoutMS']) url.searchParams.set(limit, '5000');
    return url.href;
  }

  /** From now on connections are refused. */
  cut(): void {
    this.#server?.close();
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on nothing passes, and connections stay open. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
    this.#server?.removeAllListeners('connection').on('connection', (socket: Socket) => this.#keep(socket));
  }

  async restore(): Promise<void> {
    this.cut();
    this.#server = createServer((socket) => this.#pass(socket)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    return Promise.resolve();
  }

  #pass(socket: Socket): void {
    const onward = connect(Number(this.target.port), this.target.hostname);
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#keep(from);
      from.pipe(to);
      from.on('close', () => to.destroy());
    }
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
