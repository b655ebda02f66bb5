import { ApiFailure, type FleetApi } from './fleet-api.js';

const failureShown_ms = 5_000;

/** Makes a button save the report as an HTML file. A failure shows on the button for a while. */
export function offerReport(button: HTMLElement, api: FleetApi): void {
  const label = button.textContent;
  button.addEventListener('click', () => {
    save(api).catch((error: unknown) => {
      button.textContent = error instanceof ApiFailure ? `Report: ${error.error}` : 'Report: no response';
      setTimeout(() => (button.textContent = label), failureShown_ms);
    });
  });
}

async function save(api: FleetApi): Promise<void> {
  const address = URL.createObjectURL(await api.readFile('/api/v1/report.html'));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'convoy-report.html';
  link.click();
  URL.revokeObjectURL(address);
}
