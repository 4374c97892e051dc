import type { Catalogue } from '../catalogue.ts'

export const common: Catalogue['common'] = {
  product: 'Millrace',
  save: 'Speichern',
  cancel: 'Abbrechen',
  close: 'Schließen',
  done: 'Fertig',
  retry: 'Noch einmal',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyFailed: 'Der Browser hat das Kopieren nicht erlaubt. Markiere den Text und kopiere ihn selbst.',
  showMore: 'Mehr zeigen',
  loading: 'Lädt',
  working: 'Arbeitet',
  optional: 'freiwillig',
  none: 'Keine',
  all: 'Alle',
  actions: 'Aktionen',
  minus: 'minus',
  show: 'Zeigen',
  hide: 'Verbergen',
  typeName: (name) => `Zur Bestätigung „${name}“ eingeben`,
  requestId: (id) => `Anfrage ${id}`,
  notifications: 'Meldungen',
  dismiss: 'Wegräumen',
  meter: (used, limit, left) => `${used} von ${limit} verbraucht, ${left} übrig`,
  meterHeld: (used, held, limit, left) => `${used} verbraucht und ${held} vorgemerkt von ${limit}, ${left} übrig`,
  used: 'Verbraucht',
  held: 'Vorgemerkt',
  left: 'Übrig',
}

export const problems: Catalogue['problems'] = {
  title: 'Das hat nicht geklappt',
  unexpected: 'Auf dem Server ist etwas schiefgegangen.',
  unreachable: 'Der Server ist nicht erreichbar. Prüfe die Verbindung und versuche es noch einmal.',
  pageFailed: 'Diese Seite ist gescheitert. Geändert wurde dadurch nichts.',
  reload: 'Neu laden',
  key_not_found: 'In diesem Konto gibt es keinen solchen Schlüssel.',
  request_not_found: 'In diesem Konto gibt es keine solche Anfrage. Eine abgewiesene steht nicht in den Büchern.',
}

export const charts: Catalogue['charts'] = {
  showTable: 'Als Tabelle zeigen',
  showChart: 'Als Diagramm zeigen',
  total: 'Summe',
  when: 'Wann',
  legend: 'Reihen',
  nothing: 'In diesem Zeitraum gibt es nichts zu zeichnen.',
  keys: 'Pfeiltasten führen von Punkt zu Punkt.',
}
