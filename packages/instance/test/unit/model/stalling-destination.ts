import { MongoNetworkError, type Timestamp } from 'mongodb';
import type { RawWrite, WriteOutcome, WriteTicket } from '../../../src/cluster/node-client.js';
import { DestinationModel } from './destination-model.js';

/** A destination that does not take some of the writes for the moment. */
export class StallingDestination extends DestinationModel {
  /** Which writes of documents find no server. */
  stalls: (write: RawWrite) => boolean = () => false;
  refusals = 0;

  override write(write: RawWrite, ticket: WriteTicket): WriteOutcome {
    if (write.collection !== 'fence' && this.stalls(write)) {
      this.refusals += 1;
      throw new MongoNetworkError('no server takes the write');
    }
    return super.write(write, ticket);
  }

  /** The stored checkpoint of the only task; 0 before the first one. */
  get checkpoint(): bigint {
    const checkpoint = this.metadata.documents('tasks')[0]?.checkpoint as Timestamp | null | undefined;
    return checkpoint?.toBigInt() ?? 0n;
  }
}
