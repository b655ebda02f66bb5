import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ConnectionState } from '../node/command.js';
import { ClientConnection } from './client-connection.js';
import { LinkFaults } from '../faults/link-faults.js';
import type { ServedNode } from './served-node.js';

/**
 * Connections of a node at a time. Further ones are closed at once (manual: `net.maxIncomingConnections`; corpus:
 * 16,000 in 07-auth).
 */
const connectionsMax = 16_000;

/** A TCP port behind which a node answers. */
export class WireServer {
  /** The faults of the network to the clients. */
  readonly faults = new LinkFaults();
  readonly #connections = new Set<ClientConnection>();
  #nextConnectionId = 1;

  private constructor(
    private readonly server: Server,
    private readonly host: string,
    readonly port: number,
    private readonly node: () => ServedNode | undefined,
  ) {
    server.maxConnections = connectionsMax;
    server.on('connection', (socket) => this.#accept(socket));
  }

  /**
   * Opens a port before its node exists, because a node needs to know its port. Earlier connections are closed.
   * @param node returns the node, undefined while there is none; called once per connection
   * @param port 0 takes any free one
   */
  static async listen(host: string, port: number, node: () => ServedNode | undefined): Promise<WireServer> {
    const server = createServer();
    await open(server, host, port);
    return new WireServer(server, host, (server.address() as AddressInfo).port, node);
  }

  /** Opens the same port again after `close`. */
  async reopen(): Promise<void> {
    await open(this.server, this.host, this.port);
  }

  /** The node behind the port, for clients in the same process. */
  get served(): ServedNode {
    const node = this.node();
    if (node === undefined) throw new Error('the node is not ready yet');
    return node;
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Cuts all connections and accepts new ones, as a restarting node appears to clients. */
  dropConnections(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Cuts all connections and refuses new ones. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.dropConnections();
    await closed;
  }

  #accept(socket: Socket): void {
    const node = this.node();
    if (node === undefined) {
      socket.destroy();
      return;
    }
    const state: ConnectionState = {
      id: this.#nextConnectionId++,
      remoteAddress: `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`,
      authenticated: [],
    };
    const connection = new ClientConnection(socket, node, state, this.faults);
    this.#connections.add(connection);
    socket.on('close', () => this.#connections.delete(connection));
  }
}

function open(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
