import type { CheckReply, SourceReply } from '@convoy/api/contract/start-guide';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { ApiFailure, type FleetApi } from '../page/fleet-api.js';
import {
  shardKeyNamespaces,
  startView,
  type BuildIndexes,
  type StartView,
  type SwitchView,
  type WriteBlocking,
} from '../views/start-options.js';
import { showFindings } from './findings.js';
import { SourcePicker } from './source-picker.js';

/** Time without a change before the options are checked. */
const settle_ms = 600;
const switches = ['verification', 'reversible'] as const;

/** The guided start: what to migrate, how, and whether both clusters are ready for it. */
export class StartCard {
  readonly #card = byId('start');
  readonly #picker = new SourcePicker(field(this.#card, 'picker'), () => this.#changed());
  readonly #shardKeys = new Map<string, string>();
  #source: SourceReply | null = null;
  #isReading = false;
  #isShown = false;
  #isHandwritten = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checks = 0;

  /** @param start called with the body when the user wants to start */
  constructor(
    private readonly api: FleetApi,
    start: (body: unknown) => void,
  ) {
    for (const name of ['all', 'picked', 'buildIndexes', 'writeBlocking', ...switches, 'supportingIndexes'])
      field(this.#card, name).addEventListener('change', () => this.#changed());
    this.#json.addEventListener('input', () => this.#write());
    field(this.#card, 'toForm').addEventListener('click', () => this.#toForm());
    byId('do-start').addEventListener('click', () => {
      const body = this.#readBody();
      if (body !== null) start(body);
    });
  }

  /** Shows the card while a start is possible, and asks for the source's content then. */
  show(isPossible: boolean): void {
    this.#card.hidden = !isPossible;
    if (isPossible && !this.#isShown) this.#changed();
    this.#isShown = isPossible;
    if (isPossible && this.#source === null && !this.#isReading) void this.#readSource();
  }

  get #json(): HTMLTextAreaElement {
    return field(this.#card, 'json') as HTMLTextAreaElement;
  }

  #chosen(name: 'buildIndexes' | 'writeBlocking'): string {
    return (field(this.#card, name) as HTMLSelectElement).value;
  }

  #input(name: string): HTMLInputElement {
    return field(this.#card, name) as HTMLInputElement;
  }

  async #readSource(): Promise<void> {
    this.#isReading = true;
    try {
      this.#source = await this.api.readSlowly<SourceReply>('/api/v1/source');
      this.#picker.show(this.#source);
      this.#showShardKeys(this.#source);
      this.#changed();
    } catch (error) {
      setText(field(this.#card, 'listed'), `The source cannot be listed. ${reasonOf(error)}`);
      // Shown, and read again with the next message only after a while.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    } finally {
      this.#isReading = false;
    }
  }

  #view(): StartView {
    const isOn = (name: string): boolean => this.#input(name).checked;
    const choices = {
      isFiltered: isOn('picked'),
      databases: this.#picker.databases,
      collections: this.#picker.collections,
      buildIndexes: this.#chosen('buildIndexes') as BuildIndexes,
      verifies: isOn('verification'),
      writeBlocking: this.#chosen('writeBlocking') as WriteBlocking,
      isReversible: isOn('reversible'),
      shardKeys: this.#shardKeys,
      createsSupportingIndexes: isOn('supportingIndexes'),
    };
    return startView(choices, this.#source?.clusters ?? null);
  }

  #changed(): void {
    const view = this.#view();
    field(this.#card, 'picker').hidden = !this.#input('picked').checked;
    field(this.#card, 'shardKeys').hidden = !view.needsShardKeys;
    for (const name of switches) this.#showSwitch(name, view[name]);
    setText(field(this.#card, 'indexesReason'), view.indexes.reason ?? '');
    setText(field(this.#card, 'writeBlockingReason'), view.writeBlocking.reason ?? '');
    if (!this.#isHandwritten) this.#json.value = JSON.stringify(view.body, null, 2);
    this.#checkSoon();
  }

  /** A locked switch shows what holds, and the choice comes back with its reason gone. */
  #showSwitch(name: string, { isOn, reason }: SwitchView): void {
    const input = this.#input(name);
    if (reason !== null && !input.disabled) input.dataset['chosen'] = String(input.checked);
    if (reason !== null) input.checked = isOn;
    else if (input.disabled) input.checked = input.dataset['chosen'] === 'true';
    input.disabled = reason !== null;
    setText(field(this.#card, `${name}Reason`), reason ?? '');
  }

  #showShardKeys(source: SourceReply): void {
    setList(field(this.#card, 'keys'), shardKeyNamespaces(source), {
      key: (namespace) => namespace,
      create: (namespace) => {
        const input = make('input', { autocomplete: 'off', placeholder: 'not sharded' });
        input.addEventListener('input', () => {
          this.#shardKeys.set(namespace, input.value);
          this.#changed();
        });
        return make('li', {}, make('label', {}, namespace, input));
      },
      update: () => undefined,
    });
  }

  #write(): void {
    this.#isHandwritten = true;
    field(this.#card, 'toForm').hidden = false;
    this.#checkSoon();
  }

  #toForm(): void {
    this.#isHandwritten = false;
    field(this.#card, 'toForm').hidden = true;
    this.#changed();
  }

  /** The options; null without, with the reason in the summary. */
  #readBody(): unknown {
    const { refusal } = this.#view();
    if (refusal !== null && !this.#isHandwritten) {
      setText(field(this.#card, 'summary'), `✕ ${refusal}`);
      showFindings(this.#card, []);
      return null;
    }
    try {
      return JSON.parse(this.#json.value) as unknown;
    } catch {
      setText(field(this.#card, 'summary'), '✕ The options under Advanced are no valid JSON.');
      return null;
    }
  }

  #checkSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), settle_ms);
  }

  async #check(): Promise<void> {
    const body = this.#readBody();
    if (body === null || this.#card.hidden) return;
    this.#checks += 1;
    const check = this.#checks;
    const summary = field(this.#card, 'summary');
    setText(summary, '◌ Checking both clusters …');
    const reply = await this.api.ask<CheckReply>('check', body).catch((error: unknown) => reasonOf(error));
    // Later options have a check of their own.
    if (check !== this.#checks) return;
    if (typeof reply === 'string') setText(summary, `✕ ${reply}`);
    else setText(summary, reply.canStart ? '✓ A migration can start.' : '✕ A migration cannot start yet.');
    showFindings(this.#card, typeof reply === 'string' ? [] : reply.items);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof ApiFailure ? error.message : 'The coordinator does not respond.';
}
