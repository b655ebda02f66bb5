import { Timestamp } from 'mongodb';

/** The durable form of a cluster time. */
export function storedTime(time: bigint | null): Timestamp | null {
  return time === null ? null : new Timestamp(time);
}

/** A cluster time as stored. */
export function restoredTime(stored: Timestamp | null): bigint | null {
  return stored === null ? null : stored.toBigInt();
}
