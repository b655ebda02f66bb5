import { decodeDocument } from '../../bson/decode.js';
import { Int32 } from 'bson';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import { ConfigStore } from '../../config/config-store.js';
import type { CommandNode } from '../../node/command.js';
import { doc, docOf } from '../../node/doc-fields.js';
import { internalRequest } from '../../node/internal-request.js';

/**
 * A collection of the `admin` database that is about access: users and roles by `_id` (`database.name`), versions,
 * keys.
 */
export class AccessDocuments {
  readonly #store: ConfigStore;

  constructor(
    private readonly node: CommandNode,
    private readonly collection: 'system.users' | 'system.roles' | 'system.version' | 'system.keys',
  ) {
    this.#store = new ConfigStore(node, 'admin');
  }

  async byId(id: string): Promise<Doc | undefined> {
    return (await this.find(doc(['_id', id]), 1))[0];
  }

  /** @param limit 0 for all. One batch always suffices, as it is as large as the server allows. */
  async find(filter: Doc, limit = 0): Promise<Doc[]> {
    const body = doc(
      ['find', this.collection],
      ['filter', filter],
      ['limit', new Int32(limit)],
      ['batchSize', new Int32(batchDocuments)],
      ['singleBatch', true],
    );
    const cursor = docOf((await this.node.run(internalRequest('admin', body))).get('cursor'));
    const batch = cursor?.get('firstBatch');
    return (Array.isArray(batch) ? batch : []).flatMap(asDocument);
  }

  /** Replaces or inserts the document of this `_id`. */
  async put(document: Doc): Promise<void> {
    await this.#store.put(this.collection, document);
  }

  /** @returns the number of deleted documents */
  async remove(filter: Doc): Promise<number> {
    const found = await this.find(filter);
    if (found.length > 0) await this.#store.remove(this.collection, filter);
    return found.length;
  }
}

/** More users than any simulated cluster has. */
const batchDocuments = 1_000_000;

function asDocument(value: Value): Doc[] {
  if (value instanceof RawDocument) return [decodeDocument(value.bytes)];
  return value instanceof Map ? [value] : [];
}
