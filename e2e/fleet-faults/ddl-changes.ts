import type { Db, MongoClient } from 'mongodb';
import type { Provocation } from './leader-steps.js';

const database = 'shapes';
/** Collections that are dropped and renamed during a test. */
const spares = 40;
const documents = 5;

/** DDL changes of the source, one at a time, each of another collection. */
export class DdlChanges {
  readonly #db: Db;
  #used = 0;
  #made = 0;

  constructor(private readonly client: MongoClient) {
    this.#db = client.db(database);
  }

  /** Creates the collections that change later. */
  async load(): Promise<void> {
    await this.client.db('admin').command({ enableSharding: database });
    for (let spare = 0; spare < spares; spare += 1) await this.#fill(`spare${spare}`);
  }

  /** Makes one change that the leader has to carry out. */
  async make(kind: Exclude<Provocation, 'newLeader'>): Promise<void> {
    switch (kind) {
      case 'drop':
        await this.#db.collection(this.#spare()).drop();
        break;
      case 'rename':
        await this.#db.collection(this.#spare()).rename(`renamed${this.#used}`);
        break;
      case 'create':
        await this.#fill(this.#new());
        break;
      case 'shard': {
        const name = this.#new();
        await this.client.db('admin').command({ shardCollection: `${database}.${name}`, key: { _id: 'hashed' } });
        await this.#fill(name);
        break;
      }
      case 'index':
        await this.#db.collection(this.#spare()).createIndexes([{ key: { value: 1 }, name: 'value_1' }]);
    }
  }

  /** Whether a collection that is made now has come to the destination, with all its documents, within a time. */
  async probe(destination: MongoClient): Promise<() => Promise<boolean>> {
    const name = this.#new();
    await this.#fill(name);
    return async () => (await destination.db(database).collection(name).countDocuments()) === documents;
  }

  #spare(): string {
    return `spare${this.#used++}`;
  }

  #new(): string {
    return `made${this.#made++}`;
  }

  /** Before 6.0 the first document of a collection announces it. */
  async #fill(name: string): Promise<void> {
    await this.#db
      .collection<{ _id: number; value: number }>(name)
      .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, value: _id })));
  }
}
