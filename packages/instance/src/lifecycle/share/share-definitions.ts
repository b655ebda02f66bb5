import type { Lanes } from '../../apply/lanes.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { Copier } from '../../copy/copier.js';
import type { Repairer } from '../../repair/repairer.js';
import type { Definition } from '../../store/definition-journal.js';
import type { RepairSet } from '../../store/repair-set.js';
import type { ShareStorage } from '../../store/share-storage.js';
import { type FollowedEntry, resultOf } from './followed-catalog.js';
import type { ShareTables } from './share-tables.js';
import type { UnknownCollections } from './unknown-collections.js';

/** The stations of a share as far as definition changes concern them. */
export interface DefinitionStations {
  followed: ShareTables;
  unknown: UnknownCollections;
  lanes: Lanes;
  copier: Copier;
  repairer: Repairer;
  repairs: RepairSet;
  storage: ShareStorage;
  /** Begins to follow a collection, if the share has a part in it. */
  begin(entry: FollowedEntry, signal: AbortSignal): Promise<void>;
}

/**
 * What a share does with the entries of the definition journal: it lets go of the collections that an undone one is about,
 * says when nothing of them is under way any more, and takes over what came of it. Other collections go on meanwhile.
 */
export class ShareDefinitions {
  #undone: readonly Definition[] = [];

  constructor(private readonly stations: DefinitionStations) {}

  /** Whether nothing is sent of a collection until an entry about it is done. */
  hasLetGo(uuid: string): boolean {
    return this.#undone.some((definition) => isAbout(definition, uuid));
  }

  /** Whether all known entries up to a time are done. */
  doneUpTo(time: bigint): boolean {
    return this.#undone.every((definition) => timeOf(definition.time) > time);
  }

  /** Lets go, in the same moment, of what new entries are about. */
  learn(definitions: readonly Definition[]): void {
    this.#undone = [...this.#undone, ...definitions];
    for (const uuid of definitions.flatMap(uuidsOf)) this.#letGo(uuid);
  }

  /** Resolves once nothing is under way of all that was let go of before the call. */
  async quiet(signal: AbortSignal): Promise<void> {
    const { copier, lanes, repairer } = this.stations;
    for (const uuid of new Set(this.#undone.flatMap(uuidsOf))) {
      await copier.quiet(uuid, signal);
      await lanes.answered(uuid, signal);
      await repairer.quiet(uuid, signal);
    }
  }

  /** Takes over what came of an entry that is done. Entries are taken over in order. */
  async takeOver(definition: Definition, signal: AbortSignal): Promise<void> {
    const { followed, unknown } = this.stations;
    const { ended, begun, renamed } = resultOf(definition);
    for (const uuid of ended) await this.#forget(uuid);
    if (renamed !== null) followed.rename(renamed);
    if (begun !== null) await this.stations.begin(begun, signal);
    followed.know(definition.uuid);
    unknown.resolve(definition.uuid);
    this.#undone = this.#undone.filter(({ ordinal }) => ordinal !== definition.ordinal);
    for (const uuid of uuidsOf(definition)) if (!this.hasLetGo(uuid)) this.#takeUp(uuid);
  }

  #letGo(uuid: string): void {
    this.stations.lanes.setAside(uuid);
    this.stations.copier.letGo(uuid);
    this.stations.repairer.letGo(uuid);
  }

  #takeUp(uuid: string): void {
    this.stations.lanes.takeUp(uuid);
    this.stations.copier.takeUp(uuid);
  }

  /** From the first moment on its events find no collection; what is stored of it goes last. */
  async #forget(uuid: string): Promise<void> {
    const { followed, lanes, copier, repairs, storage } = this.stations;
    const share = followed.shareOf(uuid);
    const table = followed.tables.get(uuid);
    followed.know(uuid);
    followed.remove(uuid);
    lanes.forget(uuid);
    if (table !== undefined) copier.remove(table);
    await repairs.forget(uuid);
    // One that is under way, as of a range that was just given up, would not find what it writes to.
    await table?.saved();
    if (share !== null) await storage.forgetCopy(share.copy);
  }
}

function uuidsOf({ uuid, droppedUuid }: Definition): string[] {
  return droppedUuid === null ? [uuid] : [uuid, droppedUuid];
}

function isAbout(definition: Definition, uuid: string): boolean {
  return definition.uuid === uuid || definition.droppedUuid === uuid;
}
