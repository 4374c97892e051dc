import type { Catalogue } from '../catalogue.ts'

export const people: Catalogue['people'] = {
  email: 'E-Mail',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  newPasswordHint: 'Mindestens 10 Zeichen. Ein paar Wörter hintereinander genügen.',
  signIn: {
    title: 'Anmelden',
    go: 'Anmelden',
    refused: 'E-Mail oder Passwort stimmt nicht.',
    tooMany:
      'Zu viele Versuche. Warte 15 Minuten, oder nimm ein Gerät oder Netz, das schon angemeldet war. Ein Betreiber kann einen Link senden, der sofort gilt.',
    locked: (left) => `Zu viele Versuche. Wieder möglich in ${left}.`,
    setupNeeded:
      'Auf diesem Server hat sich noch niemand eingerichtet. Seine Startmeldung im Terminal zeigt den Link dafür.',
    haveCode: 'Ich habe den Code',
    forgotten: 'Vergessen? Wer diesen Server betreibt, kann dir einen neuen Link geben.',
    ended: 'Deine Sitzung ist vorbei. Melde dich an, dann geht es dort weiter, wo du warst.',
  },
  setUp: {
    owner: 'Konto einrichten',
    operator: 'Diesen Server einrichten',
    resets: 'Neues Passwort wählen',
    ownerText: 'Wähle das Passwort für dein Konto.',
    operatorText: 'Du betreibst diesen Server: Konten, Guthaben und Tarife verwaltest du.',
    resetsText: (email) => `Für ${email}. Alle anderen Sitzungen enden.`,
    code: 'Einrichtungscode',
    codeHint: 'Aus der Startmeldung des Servers oder aus dem Link, den du bekommen hast.',
    check: 'Weiter',
    go: 'Fertigstellen',
    byCode: 'Mit einem Code einrichten',
    uselessTitle: 'Dieser Link geht nicht',
    useless: 'Der Code ist schon benutzt, abgelaufen oder nicht vollständig.',
    uselessNext:
      'Wenn du dich damit eingerichtet hast, melde dich an. Sonst bitte den Betreiber um einen neuen Link: Er entsteht unter Konten oder mit millrace people invite.',
    uselessAtFirst:
      'Auf diesem Server hat sich noch niemand eingerichtet. Starte ihn neu: Er zeigt einen neuen Link, der 15 Minuten gilt.',
    otherCode: 'Anderen Code eingeben',
    goBack: 'Zurück zur Konsole',
    expires: (when) => `Dieser Link gilt bis ${when}.`,
    toSignIn: 'Zur Anmeldung',
  },
}
