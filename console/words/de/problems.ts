import type { Catalogue } from '../catalogue.ts'

export const problems: Catalogue['problems'] = {
  title: 'Das hat nicht geklappt',
  unexpected: 'Auf dem Server ist etwas schiefgegangen.',
  unreachable: 'Der Server ist nicht erreichbar. Prüfe die Verbindung und versuche es noch einmal.',
  pageFailed: 'Diese Seite ist gescheitert. Geändert wurde dadurch nichts.',
  reload: 'Neu laden',
  key_not_found: 'In diesem Konto gibt es keinen solchen Schlüssel.',
  request_not_found: 'In diesem Konto gibt es keine solche Anfrage. Eine abgewiesene steht nicht in den Büchern.',
}
