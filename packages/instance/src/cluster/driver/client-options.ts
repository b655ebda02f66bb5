import type { MongoClientOptions } from 'mongodb';

/** Default number of connections to one node: apply workers, readers and the store share them. */
const poolSizeDefault = 32;
/** A node that does not answer for this long is left to the retry policy. */
const selection_ms = 10_000;
/** A call that finds no free connection for this long fails as retryable instead of waiting forever. */
const poolWait_ms = 60_000;

/** A connection string may not ask for less: opening a connection with TLS and a login takes part of this time. */
const poolWaitMin_ms = 10_000;

/** How connections are opened, in addition to the connection string. */
export interface ConnectionSettings {
  /** Upper bound of connections to each node. */
  poolSizeMax?: number;
}

/**
 * Driver options of every client. The driver retries nothing: Convoy has its own retry policy. There is no limit for
 * silent connections, since some commands are silent for long: each call has its own (`CallsInFlight`). A limit of the
 * connection string would end a command that takes longer in every repetition.
 * @param written options of the connection string, which override the defaults, but for the limit of silent connections
 * and for a wait for a connection that is too short
 */
export function clientOptions(settings: ConnectionSettings, written = new URLSearchParams()): MongoClientOptions {
  const defaults: MongoClientOptions = {
    appName: 'convoy',
    maxPoolSize: settings.poolSizeMax ?? poolSizeDefault,
    serverSelectionTimeoutMS: selection_ms,
    connectTimeoutMS: selection_ms,
    waitQueueTimeoutMS: poolWait_ms,
  };
  const given = new Map([...written].map(([name, value]) => [name.toLowerCase(), value]));
  const missing = Object.entries(defaults).filter(([name]) => !given.has(name.toLowerCase()));
  // The driver connects to nobody with a minimum above the maximum, which here is Convoy's own.
  const poolSizeMin = Number(given.get('minpoolsize') ?? 0);
  const isAbove = !given.has('maxpoolsize') && poolSizeMin > (settings.poolSizeMax ?? poolSizeDefault);
  const raised = isAbove ? { maxPoolSize: poolSizeMin } : {};
  return {
    ...Object.fromEntries(missing),
    ...raised,
    ...withinFloor(given),
    socketTimeoutMS: 0,
    retryReads: false,
    retryWrites: false,
  };
}

/** 0 is no limit. */
function withinFloor(given: ReadonlyMap<string, string>): MongoClientOptions {
  const poolWait = Number(given.get('waitqueuetimeoutms') ?? 0);
  return poolWait > 0 && poolWait < poolWaitMin_ms ? { waitQueueTimeoutMS: poolWaitMin_ms } : {};
}
