import type { Catalogue } from '../catalogue.ts'

export const runs: Catalogue['runs'] = {
  title: 'Läufe',
  about:
    'Ein Lauf ist die Aufgabe eines Agenten, deren Anfragen sich ein Budget teilen, samt den Läufen innerhalb davon.',
  none: 'Noch keine Läufe',
  noneText:
    'Eine Anfrage mit dem Header x-millrace-run beginnt einen. Ein Schlüssel kann auch jeder Unterhaltung einen eigenen geben.',
  missing: 'Lauf nicht gefunden',
  missingText: 'Ein Lauf ist noch 30 Tage nach seinem Ende lesbar. Seine Anfragen bleiben.',
  columns: { run: 'Lauf', budget: 'Budget', left: 'Übrig', state: 'Status', opened: 'Begonnen' },
  inside: (parent) => `in ${parent}`,
  states: { open: 'Offen', ended: 'Beendet' },
  unlimited: 'keines',
  ends: (at) => `Endet ${at}`,
  ended: (at) => `Beendet ${at}`,
  cost: 'Verbraucht',
  requests: 'Anfragen',
  requestCount: { one: '# Anfrage', other: '# Anfragen' },
  tokenCount: (count) => `${count} Tokens`,
  tokens: 'Tokens',
  of: (limit) => `von ${limit}`,
  left: (left) => `${left} übrig`,
  noBudget: 'ohne Grenze',
  tree: 'Läufe innerhalb',
  treeAbout: 'Beendete Anfragen, jeweils mit denen der Läufe innerhalb. Ein äußerer Lauf begrenzt die inneren.',
  notAll: 'Es gibt mehr Läufe, als diese Liste zeigt. Die Summen oben enthalten alle.',
  own: 'Anfragen des Laufs selbst',
  ownNone: 'Noch keine Anfragen',
  ownNoneText:
    'Anfragen, die einen Lauf innerhalb nennen, stehen auf dessen Seite. Ein Mitglied sieht die Anfragen der eigenen Schlüssel.',
  copyId: 'Lauf-ID kopieren',
}
