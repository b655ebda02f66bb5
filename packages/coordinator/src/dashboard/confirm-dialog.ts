import { byId, field, setText } from './dom.js';
import type { ActionView } from './views/cut-over-view.js';

/** Asks for confirmation before it sends a command. Irreversible commands require typing their name. */
export class ConfirmDialog {
  readonly #dialog: HTMLDialogElement;
  #action: ActionView | null = null;
  #body: unknown = {};

  /** @param send sends the command and resolves once it is answered; the dialog shows its errors */
  constructor(private readonly send: (action: ActionView, body: unknown) => Promise<void>) {
    const dialog = byId('confirm');
    if (!(dialog instanceof HTMLDialogElement)) throw new Error('confirm is no dialog');
    this.#dialog = dialog;
    field(dialog, 'cancel').addEventListener('click', () => dialog.close());
    field(dialog, 'confirm').addEventListener('click', () => void this.#confirm());
    this.#typed.addEventListener('input', () => this.#showReady());
  }

  /** @param body the command's body; those of a start are its options */
  ask(action: ActionView, body: unknown = {}): void {
    this.#action = action;
    this.#body = body;
    setText(field(this.#dialog, 'title'), `${action.label} the migration?`);
    setText(field(this.#dialog, 'consequence'), action.consequence);
    setText(field(this.#dialog, 'confirm'), action.label);
    setText(field(this.#dialog, 'result'), '');
    setText(field(this.#dialog, 'typedWord'), action.name);
    field(this.#dialog, 'typedRow').hidden = !action.isFinal;
    field(this.#dialog, 'options').hidden = action.name !== 'start';
    setText(field(this.#dialog, 'options'), JSON.stringify(body, null, 2));
    this.#typed.value = '';
    this.#showReady();
    this.#dialog.showModal();
  }

  get #typed(): HTMLInputElement {
    return field(this.#dialog, 'typed') as HTMLInputElement;
  }

  get #button(): HTMLButtonElement {
    return field(this.#dialog, 'confirm') as HTMLButtonElement;
  }

  #showReady(): void {
    this.#button.disabled =
      this.#action === null || (this.#action.isFinal && this.#typed.value.trim().toLowerCase() !== this.#action.name);
  }

  async #confirm(): Promise<void> {
    if (this.#action === null) return;
    const result = field(this.#dialog, 'result');
    this.#button.disabled = true;
    setText(result, 'Sent. Waiting for every instance …');
    try {
      await this.send(this.#action, this.#body);
      this.#dialog.close();
    } catch (error) {
      setText(result, `✕ ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#showReady();
    }
  }
}
