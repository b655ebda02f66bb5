import { connect } from 'node:tls';
import type { Socket } from 'node:net';
import { AbstractConnector, type RedisOptions, SentinelConnector } from 'ioredis';

/** Time limit of closing a connection before it is destroyed; the driver's default. */
const DISCONNECT_TIMEOUT_MS = 2_000;

/**
 * Keeps an error from ending the process. A TLS socket may fail twice: by itself and by an alert of the peer. The
 * driver listens only for the first failure.
 */
function heard<Stream extends Socket>(stream: Stream): Stream {
  return stream.on('error', () => undefined);
}

/** Connects to one server by TLS. */
export class TlsConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  /** @param options the connection's options */
  constructor(options: unknown) {
    super(DISCONNECT_TIMEOUT_MS);
    this.#options = options as RedisOptions;
  }

  override connect(): Promise<Socket> {
    const { host = '127.0.0.1', port = 6379, tls = {} } = this.#options;
    this.connecting = true;
    const stream = heard(connect({ host, port, ...tls }));
    stream.once('error', (error: Error) => {
      this.firstError = error;
    });
    this.stream = stream;
    return Promise.resolve(stream);
  }
}

/** Connects by TLS to the primary that Sentinels name. */
export class TlsSentinelConnector extends SentinelConnector {
  /** @param options the connection's options */
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
  }

  override async connect(emitter: Parameters<SentinelConnector['connect']>[0]): Promise<Socket> {
    return heard(await super.connect(emitter));
  }
}
