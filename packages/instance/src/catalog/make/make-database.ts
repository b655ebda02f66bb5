import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { codeOf, serverErrorCode } from '../../cluster/failure.js';
import { listCollections } from '../read/list-namespaces.js';
import type { Making } from './create-collection.js';

type MakingDatabase = Pick<Making, 'destination' | 'signal' | 'confirm'>;

/** Where routers and members name the database that they have, in the message of 13297 (seen on 5.0.7). */
const presentName = /have: \[?([^\s\]]+)/;

/**
 * Sends a command that may make a database. An emptied database in the way is dropped, and the command sent once more.
 * @throws ConvoyError `destinationNotEmpty` for a database with collections whose name differs only in case; otherwise
 * what the command throws
 */
export async function makeDatabase(making: MakingDatabase, name: string, send: () => Promise<unknown>): Promise<void> {
  try {
    await send();
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.databaseDifferCase) throw failure;
    await dropEmptied(making, name, failure);
    await send();
  }
}

/**
 * Servers refuse two databases whose names differ only in case. One whose collections were all dropped stays on
 * routers, and on members until they restart.
 */
async function dropEmptied({ destination, signal, confirm }: MakingDatabase, wanted: string, refusal: unknown) {
  const present = refusal instanceof Error ? presentName.exec(refusal.message)?.[1] : undefined;
  if (present === undefined || present === wanted || present.toLowerCase() !== wanted.toLowerCase()) throw refusal;
  if ((await listCollections(destination.router, present, signal)).length > 0)
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination has the database ${present}, whose name differs only in case from ${wanted}. Drop it there.`,
    );
  await confirm();
  await destination.router.command(present, { dropDatabase: 1, writeConcern: { w: 'majority' } }, { signal });
}
