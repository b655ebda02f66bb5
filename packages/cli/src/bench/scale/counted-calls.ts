import { BSON, type Document } from 'mongodb';
import type { ClusterClient, NodeClient } from '@convoy/instance/cluster/node-client';
import { type Connect, connectConfigured } from '@convoy/instance/lifecycle/migration/clusters';
import type { MetadataCalls } from './member-order.js';

const metadataDatabase = 'convoy_metadata';

/** Counts what engines ask of the metadata database. */
export class CountedCalls {
  readonly #commands = new Map<string, number>();
  #bytesRead = 0;

  /** Connects as instances do, with counted calls to the destination's router. */
  readonly connect: Connect = async (...given) => {
    const cluster = await connectConfigured(...given);
    return given[1] === 'cluster1' ? this.#counted(cluster) : cluster;
  };

  get calls(): MetadataCalls {
    return { commands: Object.fromEntries(this.#commands), bytesRead: this.#bytesRead };
  }

  #counted(cluster: ClusterClient): ClusterClient {
    const router = this.#countedNode(cluster.router);
    return new Proxy(cluster, {
      get: (target, name) => {
        if (name === 'router') return router;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #countedNode(node: NodeClient): NodeClient {
    return {
      label: node.label,
      command: async (database, command, options) => {
        const reply = await node.command(database, command, options);
        if (database === metadataDatabase) this.#count(command, reply);
        return reply;
      },
      openCursor: (database, command, options) => node.openCursor(database, command, options),
      write: (write, ticket, options) => {
        if (write.database === metadataDatabase) this.#add(`${write.kind} ${write.collection}`);
        return node.write(write, ticket, options);
      },
      close: () => node.close(),
    };
  }

  #count(command: Document, reply: Document): void {
    const [[name, collection] = ['', '']] = Object.entries(command) as [string, unknown][];
    this.#add(`${name} ${String(collection)}`);
    if (name === 'find') this.#bytesRead += BSON.calculateObjectSize(reply);
  }

  #add(call: string): void {
    this.#commands.set(call, (this.#commands.get(call) ?? 0) + 1);
  }
}
