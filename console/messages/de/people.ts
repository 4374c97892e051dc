import type { Catalogue } from '../catalogue.ts'

export const people: Catalogue['people'] = {
  email: 'E-Mail',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  newPasswordHint: 'Mindestens 10 Zeichen. Am besten ein paar Wörter hintereinander.',
  signIn: {
    title: 'Anmelden',
    go: 'Anmelden',
    refused: 'E-Mail oder Passwort ist falsch.',
    tooMany:
      'Zu viele Versuche. Warte 15 Minuten, oder nutze ein Gerät oder Netz, mit dem du schon angemeldet warst. Dein Betreiber kann dir auch einen Link senden, der sofort funktioniert.',
    locked: (left) => `Zu viele Versuche. Versuche es in ${left} erneut.`,
    setupNeeded:
      'Dieser Server ist noch nicht eingerichtet. Öffne den Einrichtungslink, den er beim Start im Terminal ausgibt.',
    haveCode: 'Einrichtungscode eingeben',
    forgotten: 'Passwort vergessen? Bitte deinen Betreiber um einen Link.',
    ended: 'Deine Sitzung ist beendet. Melde dich an, um fortzufahren.',
  },
  setUp: {
    owner: 'Konto einrichten',
    operator: 'Server einrichten',
    resets: 'Neues Passwort wählen',
    ownerText: 'Wähle ein Passwort für dein Konto.',
    operatorText: 'Du wirst Betreiber und verwaltest Konten, Guthaben und Tarife.',
    resetsText: (email) => `Für ${email}. Alle anderen Sitzungen enden.`,
    code: 'Einrichtungscode',
    codeHint: 'Aus der Startmeldung des Servers oder dem Link, den du erhalten hast.',
    check: 'Weiter',
    go: 'Einrichtung abschließen',
    byCode: 'Mit Code einrichten',
    uselessTitle: 'Dieser Link funktioniert nicht',
    useless: 'Der Code ist unvollständig, abgelaufen oder wurde bereits verwendet.',
    uselessNext:
      'Wenn du schon registriert bist, melde dich an. Sonst bitte deinen Betreiber um einen neuen Link: Er erstellt ihn unter Konten oder mit millrace people invite.',
    uselessAtFirst:
      'Dieser Server ist noch nicht eingerichtet. Starte ihn neu, um einen neuen Link zu erhalten, der 15 Minuten gilt.',
    otherCode: 'Anderen Code eingeben',
    goBack: 'Zurück zur Konsole',
    expires: (when) => `Dieser Link gilt bis ${when}.`,
    toSignIn: 'Zur Anmeldung',
  },
}
