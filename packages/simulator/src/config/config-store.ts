import { Int32 } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import type { Doc, Value } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { CommandNode } from '../node/command.js';
import { internalRequest } from '../node/internal-request.js';

/** Writes the cluster's own documents into collections of `config`, or of another database, where clients read them. */
export class ConfigStore {
  constructor(
    private readonly node: CommandNode,
    private readonly database = 'config',
  ) {}

  /** Replaces or inserts the document of this `_id`. */
  async put(collection: string, document: Doc): Promise<void> {
    await this.putAll(collection, [document]);
  }

  async putAll(collection: string, documents: readonly Doc[]): Promise<void> {
    if (documents.length === 0) return;
    const updates = documents.map((document) =>
      encodeDocument(doc(['q', doc(['_id', document.get('_id') ?? null])], ['u', document], ['upsert', true])),
    );
    await this.#write('update', collection, 'updates', updates);
  }

  /** Deletes all documents that the filter matches. */
  async remove(collection: string, filter: Doc): Promise<void> {
    await this.#write('delete', collection, 'deletes', [encodeDocument(doc(['q', filter], ['limit', new Int32(0)]))]);
  }

  /** Changes or inserts the document of this `_id`. */
  async set(collection: string, id: Value, fields: Doc): Promise<void> {
    await this.#update(collection, id, doc(['$set', fields]));
  }

  /** Takes a field out of the document of this `_id`. */
  async unset(collection: string, id: Value, field: string): Promise<void> {
    await this.#update(collection, id, doc(['$unset', doc([field, ''])]));
  }

  async #update(collection: string, id: Value, update: Doc): Promise<void> {
    const statement = doc(['q', doc(['_id', id])], ['u', update], ['upsert', true]);
    await this.#write('update', collection, 'updates', [encodeDocument(statement)]);
  }

  async #write(command: string, collection: string, field: string, statements: Uint8Array[]): Promise<void> {
    await this.node.run(
      internalRequest(this.database, doc([command, collection]), { sequences: new Map([[field, statements]]) }),
    );
  }
}
