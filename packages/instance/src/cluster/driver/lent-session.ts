import { Binary, Long, type MongoClient, type ClientSession } from 'mongodb';

/** A server session that the caller chose, and the number of a transaction in it. */
interface ChosenSession {
  /** 16 bytes of the session's UUID. */
  lsid: Uint8Array;
  txnNumber?: bigint;
}

/**
 * Runs a call in a server session of the caller's choice. A driver session borrows the id during the call. So the
 * driver never pools it and never ends it on the server: that would lift its fence.
 */
export async function inSession<T>(
  client: MongoClient,
  chosen: ChosenSession,
  call: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const session = client.startSession({ causalConsistency: false });
  const serverSession = session.serverSession;
  const own = { id: serverSession.id, txnNumber: serverSession.txnNumber };
  serverSession.id = { id: new Binary(chosen.lsid, Binary.SUBTYPE_UUID) };
  // commitTransaction and abortTransaction take their number from the driver's session, which stores a double. It is
  // exact below 2^53, which is enough for probes: no other caller has transactions.
  if (chosen.txnNumber !== undefined) serverSession.txnNumber = Number(chosen.txnNumber);
  try {
    return await call(session);
  } finally {
    serverSession.id = own.id;
    serverSession.txnNumber = own.txnNumber;
    await session.endSession();
  }
}

/** The session that a command names in its own `lsid` and `txnNumber` fields, or null. */
export function sessionOfCommand(command: Record<string, unknown>): ChosenSession | null {
  const lsid = command.lsid as { id?: unknown } | undefined;
  if (!(lsid?.id instanceof Binary)) return null;
  const number = command.txnNumber;
  const chosen: ChosenSession = { lsid: lsid.id.buffer.subarray(0, lsid.id.position) };
  return number instanceof Long ? { ...chosen, txnNumber: number.toBigInt() } : chosen;
}
