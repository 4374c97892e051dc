import type { Catalogue } from '../catalogue.ts'

export const found: Catalogue['found'] = {
  about: 'Eine Anfrage von irgendwem finden, über ihre Nummer aus x-request-id oder dem Log.',
  id: 'Nummer der Anfrage',
  idExample: 'req_…',
  idWrong: 'Eine Nummer beginnt mit req_.',
  find: 'Finden',
  hint: 'Wer um Hilfe bittet, kann die Nummer aus einer Fehlermeldung oder der Liste der Anfragen kopieren.',
  account: 'Konto',
  none: 'Diese Anfrage gibt es nicht',
  noneText:
    'Was abgelehnt wurde, bevor es begann, hat keinen Beleg, und alte werden irgendwann entfernt. Vielleicht ist die Nummer vertippt.',
  again: 'Eine andere finden',
}
