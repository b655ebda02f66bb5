import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { Logger } from 'pino';
import { readNamedFile } from '@convoy/api/configuration/named-file';
import { given } from '@convoy/api/contract/given';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { HangWatch } from './hang-watch.js';
import { redisFailureReason, redisFailureText } from './redis-failure.js';
import type { RedisSettings, RedisTls } from './redis-settings.js';
import type { RedisConnection } from './signed-redis.js';

/** Attempts of one command over new connections before it fails; callers have their own time limits. */
const COMMAND_RETRIES = 2;
/** Time limit of connecting, before another attempt. */
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Delays between connection attempts grow from the first to the last; Redis is found within a second after it returns.
 */
const RECONNECT_PAUSE_MS = { first: 50, last: 1_000 };

/**
 * Milliseconds before the next attempt: doubling up to the bound, with jitter so that a fleet does not reconnect all at
 * once.
 */
function reconnectPause(attempt: number): number {
  const pause = Math.min(RECONNECT_PAUSE_MS.first * 2 ** Math.min(attempt, 10), RECONNECT_PAUSE_MS.last);
  return Math.round(pause * (0.5 + Math.random() / 2));
}

function tlsOptions(tls: RedisTls): NonNullable<RedisOptions['tls']> {
  const read = (name: 'caFile' | 'certFile' | 'keyFile') => tls[name] && readNamedFile(tls[name], `redis.tls.${name}`);
  return {
    ...given({ ca: read('caFile'), cert: read('certFile'), key: read('keyFile'), servername: tls.servername }),
    rejectUnauthorized: !tls.allowInvalidCertificates,
  };
}

function commonOptions(settings: RedisSettings, commandRetries: number | null): RedisOptions {
  return {
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: reconnectPause,
    maxRetriesPerRequest: commandRetries,
    // A primary that became a replica replies READONLY: a new connection finds the current primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...given({ username: settings.username?.reveal(), password: settings.password?.reveal() }),
    ...(settings.tls === undefined ? {} : { tls: tlsOptions(settings.tls), Connector: TlsConnector }),
  };
}

function connect(settings: RedisSettings, commandRetries: number | null, more: RedisOptions = {}): RedisConnection {
  const common = { ...commonOptions(settings, commandRetries), ...more };
  const { topology, database: db } = settings;
  if (topology.kind === 'single') return new Redis({ ...common, ...topology.address, db });
  if (topology.kind === 'cluster') {
    return new Cluster([...topology.nodes], { redisOptions: common, clusterRetryStrategy: reconnectPause });
  }
  return new Redis({
    ...common,
    db,
    sentinels: [...topology.sentinels],
    name: topology.primaryName,
    sentinelRetryStrategy: reconnectPause,
    ...given({
      sentinelUsername: topology.sentinelUsername?.reveal(),
      sentinelPassword: topology.sentinelPassword?.reveal(),
    }),
    ...(settings.tls === undefined
      ? {}
      : { sentinelTLS: tlsOptions(settings.tls), enableTLSForSentinelMode: true, Connector: TlsSentinelConnector }),
  });
}

/** Creates, watches and closes one process's connections to Redis. The owner closes them. */
export class RedisConnections {
  readonly #hangs: HangWatch;
  readonly #open = new Set<RedisConnection>();
  /** One log line per outage: the driver repeats its errors with every attempt. */
  #outageLogged = false;
  /** The last failure to connect; null once connected. */
  #failure: Error | null = null;

  /** @param call_ms time limit of one call */
  constructor(
    private readonly settings: RedisSettings,
    private readonly logger: Logger,
    call_ms: number,
  ) {
    this.#hangs = new HangWatch(call_ms);
  }

  /** A connection whose commands fail after a few attempts, for calls with a time limit. */
  bounded(): RedisConnection {
    return this.#answering(connect(this.settings, COMMAND_RETRIES), true);
  }

  /**
   * A connection whose commands wait until Redis returns, as BullMQ needs it. Closing it also closes BullMQ's copies:
   * BullMQ itself would wait for a lost Redis.
   */
  patient(): RedisConnection {
    const connection = this.#answering(connect(this.settings, null));
    if (connection instanceof Redis) {
      const duplicate = connection.duplicate.bind(connection);
      connection.duplicate = (override) => this.#watched(duplicate(override));
    } else {
      const duplicate = connection.duplicate.bind(connection);
      connection.duplicate = (nodes, override) => this.#watched(duplicate(nodes, override));
    }
    return connection;
  }

  /**
   * A waiting connection for subscriptions. The driver does not restore them: subscribe on every `ready`. (It would
   * restore them with a promise that nobody catches, whose failure would end the process.)
   */
  subscriber(): RedisConnection {
    return this.#answering(connect(this.settings, null, { autoResubscribe: false }));
  }

  /** Why there is no connection, and what to do; null while connections stand. Without address, user and password. */
  get failureText(): string | null {
    return this.#failure === null ? null : redisFailureText(this.#failure);
  }

  /**
   * The error of a process that gives up: with the address, and the cause that a call's time limit hides. Other errors
   * pass unchanged.
   */
  explained(error: unknown): unknown {
    if (!isConvoyError(error, 'redisUnavailable')) return error;
    const { topology } = this.settings;
    const host = topology.kind === 'single' ? `${topology.address.host}:${topology.address.port}: ` : '';
    const description = `Redis cannot be reached: ${host}${redisFailureText(this.#failure ?? error)}`;
    return new ConvoyError('redisUnavailable', description, { cause: error });
  }

  /** Logs a connection failure, once per outage and without addresses. */
  readonly onError = (error: unknown): void => {
    // A call's time limit hides the cause that the connection found before.
    if (error instanceof Error && redisFailureReason(error) !== 'TIMEOUT') this.#failure = error;
    if (this.#outageLogged) return;
    this.#outageLogged = true;
    this.logger.warn(
      { event: 'redisUnavailable', reason: redisFailureReason(error), explanation: redisFailureText(error) },
      'Redis is unreachable, retrying',
    );
  };

  /** Closes all connections immediately, without waiting for replies. */
  close(): void {
    for (const connection of this.#open) connection.disconnect();
  }

  /** @param isBusy whether heartbeats or their checks use it */
  #answering(connection: RedisConnection, isBusy = false): RedisConnection {
    this.#hangs.add(connection, isBusy);
    return this.#watched(connection);
  }

  #watched<Connection extends RedisConnection>(connection: Connection): Connection {
    connection.on('error', this.onError);
    connection.on('ready', () => {
      if (this.#outageLogged) this.logger.info({ event: 'redisAvailable' }, 'Redis is reachable again');
      this.#outageLogged = false;
      this.#failure = null;
    });
    connection.on('end', () => this.#open.delete(connection));
    this.#open.add(connection);
    return connection;
  }
}

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
class TlsConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  /** @param options the connection's options */
  constructor(options: unknown) {
    super(DISCONNECT_TIMEOUT_MS);
    this.#options = options as RedisOptions;
  }

  override connect(): Promise<Socket> {
    const { host = '127.0.0.1', port = 6379, tls = {} } = this.#options;
    this.connecting = true;
    const stream = heard(connectTls({ host, port, ...tls }));
    stream.once('error', (error: Error) => {
      this.firstError = error;
    });
    this.stream = stream;
    return Promise.resolve(stream);
  }
}

/** Connects by TLS to the primary that Sentinels name. */
class TlsSentinelConnector extends SentinelConnector {
  /** @param options the connection's options */
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
  }

  override async connect(emitter: Parameters<SentinelConnector['connect']>[0]): Promise<Socket> {
    return heard(await super.connect(emitter));
  }
}
