import type { Catalogue } from '../catalogue.ts'

export const people: Catalogue['people'] = {
  email: 'E-Mail',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  newPasswordHint: 'Mindestens 10 Zeichen. Am besten ein paar Wörter hintereinander.',
  signIn: {
    title: 'Anmelden',
    go: 'Anmelden',
    codeNeeded: 'Das Passwort stimmt. Gib noch einen Code ein. Mit einem Passkey geht es auch.',
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
  secondStep: {
    title: 'Zweiter Schritt',
    add: 'Dein Konto verlangt einen zweiten Schritt neben dem Passwort. Füge eine Authenticator-App oder einen Passkey hinzu, um fortzufahren.',
    give: 'Dein Konto verlangt einen zweiten Schritt. Nutze deinen Passkey oder gib einen Code ein.',
    goOn: 'Weiter',
  },
  signOn: {
    with: (label) => `Weiter mit ${label}`,
    passwordOff: 'Passwörter gelten auf diesem Server nur für Betreiber. Melde dich mit deinem Anbieter an.',
    confirmed: 'Bestätigt',
    notConfirmed: 'Nicht bestätigt',
    closeWindow: 'Du kannst dieses Fenster schließen und im anderen weitermachen.',
    problems: {
      unknown_provider: 'Dieser Anbieter ist hier nicht eingerichtet. Melde dich anders an.',
      unreachable:
        'Der Anbieter antwortet nicht. Versuche es gleich noch einmal, oder melde dich mit deinem Passwort an.',
      expired:
        'Diese Anmeldung wurde vor zu langer Zeit oder in einem anderen Browser begonnen, oder schon benutzt. Versuche es erneut.',
      invalid: 'Der Anbieter hat die Anmeldung nicht bestätigt. Versuche es erneut; sonst frage deinen Betreiber.',
      email: 'Der Anbieter nennt deine E-Mail nicht bestätigt. Frage die Leute, die deine Anmeldung verwalten.',
      domain: 'E-Mails dieser Domain dürfen sich hier nicht anmelden.',
      no_role: 'Keine deiner Gruppen hat Zugang zu diesem Server. Frage die Leute, die deine Gruppen verwalten.',
      unknown_person: 'Du hast noch keinen Zugang. Bitte deinen Betreiber um eine Einladung.',
      other_identity: 'Deine E-Mail gehört hier zu einer anderen Identität. Bitte deinen Betreiber, sie zu lösen.',
      other_account: 'Deine Gruppen geben Zugang zu einem anderen Konto als deinem. Frage deinen Betreiber.',
      last: 'Du bist der letzte Inhaber oder Betreiber, aber deine Gruppen geben dir eine andere Rolle. Frage deinen Betreiber.',
      disabled: 'Dein Zugang ist gesperrt. Frage deinen Betreiber.',
      not_fresh: 'Der Anbieter hat dich nicht erneut anmelden lassen. Bitte deinen Betreiber um einen Passwort-Link.',
      other_person: 'Du hast dich beim Anbieter als eine andere Person angemeldet.',
    },
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
