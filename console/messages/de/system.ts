import type { Catalogue } from '../catalogue.ts'

export const system: Catalogue['system'] = {
  about: 'Dieser Server, und wie es um ihn steht.',
  running: 'Laufende Anfragen',
  served: 'Beantwortete Anfragen',
  servedNote: 'seit dem Start',
  up: 'Läuft seit',
  ledger: 'Bücher',
  ledgerGood: 'Werden geschrieben',
  ledgerBad: 'Nicht beschreibbar',
  ledgerBadText: 'Nichts wird begonnen, bis die Datenbank wieder schreibt. Verloren ist nichts.',
  facts: 'Worauf er läuft',
  version: 'Version',
  node: 'Node',
  driver: 'Datenbanktreiber',
  data: 'Daten',
  config: 'Konfiguration',
  baseUrl: 'Basis-URL',
  started: 'Gestartet',
}
