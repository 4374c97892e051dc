import type { Catalogue } from '../catalogue.ts'

export const plans: Catalogue['plans'] = {
  about: 'Was die Konfiguration anbietet, und wer darauf ist.',
  none: 'Keine Tarife',
  noneText: 'Tarife stehen in der Konfiguration unter „plans“. Bis dahin zahlen Schlüssel nur aus Guthaben.',
  windows: 'Fenster',
  opens: 'Modelle, die er öffnet',
  opensNone: 'Er öffnet kein Modell: Nichts im Katalog passt.',
  patterns: 'Geschrieben als',
  accounts: { one: '# Konto', other: '# Konten' },
  more: (count) => `und ${count} weitere`,
}
