import type { Catalogue } from '../catalogue.ts'
import { capNames } from './cap-names.ts'

export const caps: Catalogue['caps'] = {
  names: capNames,
  holders: { key: 'Dieser Schlüssel', person: 'Person', team: 'Team' },
  title: 'Limits',
  hint: 'USD zu Listenpreisen, in Tagen, Wochen, Monaten und Quartalen der UTC. Ein leeres Feld bedeutet kein Limit.',
  wrongMoney: 'Gib einen Betrag über null und bis 1000000 ein, zum Beispiel 5,00.',
  wrongCount: 'Gib eine ganze Zahl über null ein.',
  of: (used, limit) => `${used} von ${limit}`,
  left: (left) => `${left} übrig`,
  resets: (when) => `Neustart ${when}`,
  never: 'Kein Neustart',
  raised: 'Erhöht',
  raisedUntil: 'Erhöht bis',
  none: 'Keine',
  edit: 'Limits bearbeiten',
  changed: 'Limits geändert',
  raise: 'Erhöhen',
  raiseTitle: (name) => `Ein Limit von ${name} erhöhen`,
  raiseText: 'Das Limit ist eine Zeit lang höher und danach wie zuvor.',
  cap: 'Limit',
  raiseTo: 'Neues Limit',
  raiseFor: 'Dauer',
  spans: { '1h': '1 Stunde', '12h': '12 Stunden', '1d': '1 Tag', '7d': '7 Tage', '30d': '30 Tage' },
  raisedNow: 'Limit erhöht',
}
