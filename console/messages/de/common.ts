import type { Catalogue } from '../catalogue.ts'

export const common: Catalogue['common'] = {
  product: 'Millrace',
  save: 'Speichern',
  usePasskey: 'Passkey verwenden',
  code: 'Code',
  codeHint: 'Sechs Ziffern aus deiner Authenticator-App oder ein Wiederherstellungscode.',
  cancel: 'Abbrechen',
  close: 'Schließen',
  done: 'Fertig',
  retry: 'Erneut versuchen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyFailed: 'Der Browser hat das Kopieren verhindert. Markiere den Text und kopiere ihn von Hand.',
  showMore: 'Mehr anzeigen',
  loading: 'Lädt',
  working: 'Wird ausgeführt',
  optional: 'optional',
  all: 'Alle',
  actions: 'Aktionen',
  minus: 'minus',
  show: 'Anzeigen',
  hide: 'Ausblenden',
  typeName: (name) => `Zur Bestätigung „${name}“ eingeben`,
  requestId: (id) => `Anfrage ${id}`,
  notifications: 'Benachrichtigungen',
  dismiss: 'Schließen',
  meter: (used, limit, left) => `${used} von ${limit} verbraucht, ${left} übrig`,
  meterHeld: (used, held, limit, left) => `${used} von ${limit} verbraucht, ${held} reserviert, ${left} übrig`,
  faults: {
    missing: 'Fülle dieses Feld aus.',
    email: 'Gib eine E-Mail-Adresse ein, zum Beispiel ada@example.com.',
    tooShort: (least) => `Gib mindestens ${least} Zeichen ein.`,
    wrong: 'Dieser Wert ist ungültig.',
  },
}

export const problems: Catalogue['problems'] = {
  title: 'Etwas ist schiefgegangen',
  pageFailed: 'Diese Seite konnte nicht angezeigt werden. Deine Daten sind unverändert.',
  stillAway: 'Der Server antwortet noch nicht. Versuche es gleich noch einmal.',
  reload: 'Neu laden',
  again: (wait) => `Versuche es in ${wait} erneut.`,
  codes: {
    unexpected: 'Auf dem Server ist etwas schiefgegangen. Versuche es erneut.',
    unreachable: 'Der Server ist nicht erreichbar. Prüfe die Verbindung und versuche es erneut.',
    no_answer:
      'Der Server hat nicht rechtzeitig geantwortet. Vielleicht wurde die Änderung gespeichert: Prüfe das, bevor du es erneut versuchst.',
    stream_cut: 'Der Stream endete, bevor die Antwort vollständig war.',
    part_lost:
      'Ein Teil der Konsole konnte nicht geladen werden. Vielleicht wurde der Server neu gestartet oder aktualisiert. Lade die Seite neu.',

    internal_error: 'Auf dem Server ist etwas schiefgegangen. Versuche es erneut.',
    server_draining: 'Der Server wird gerade beendet. Versuche es gleich noch einmal.',
    database_unavailable: 'Die Datenbank ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
    busy: 'Der Server bearbeitet gerade zu viele Anmeldungen. Versuche es gleich noch einmal.',
    too_many_requests: 'Zu viele Anfragen von dieser Adresse.',
    too_many_tries: 'Zu viele Versuche.',
    https_needed:
      'Dein Passwort würde unverschlüsselt übertragen. Öffne die Konsole über HTTPS oder direkt auf dem Server. HTTPS richtet dein Betreiber ein.',
    other_site: 'Diese Seite gehört zu einer früheren Sitzung. Lade sie neu.',
    session_ended: 'Du wurdest abgemeldet. Melde dich erneut an.',
    session_not_found: 'Diese Sitzung ist bereits beendet.',
    wrong_code: 'Der Code ist falsch oder wurde schon benutzt.',
    factor_exists: 'Die Liste hat sich geändert. Lade die Seite neu.',
    factor_not_found: 'Die Liste hat sich geändert. Lade die Seite neu.',
    last_factor: 'Ein zweiter Schritt ist vorgeschrieben, und das ist dein einziger. Füge erst einen anderen hinzu.',
    second_factor_needed: 'Hier ist zuerst ein zweiter Schritt nötig.',
    passkey_refused: 'Der Passkey wurde nicht akzeptiert. Versuche es erneut.',
    passkey_not_found: 'Die Liste hat sich geändert. Lade die Seite neu.',
    passkey_known: 'Dieses Gerät hat bereits einen Passkey.',
    no_passkey: 'Der Passkey wurde nicht akzeptiert. Versuche es erneut.',
    wrong_password: 'Falsches Passwort.',
    invite_not_valid: 'Dieser Link ist abgelaufen oder wurde bereits verwendet.',
    email_missing: 'Gib eine E-Mail-Adresse ein.',
    operators_only: 'Das dürfen nur Betreiber dieses Servers.',
    no_account: 'Du hast auf diesem Server kein Konto und deshalb weder Schlüssel noch Guthaben.',
    role_too_low: 'Deine Rolle erlaubt das nicht. Ein Inhaber kann sie ändern.',
    person_changed: 'Rollen wurden gerade geändert. Nichts wurde gespeichert: Lade die Seite neu.',
    managed_outdated:
      'Inzwischen hat jemand etwas geändert, daher wurde nichts gespeichert. Speichere noch einmal, wenn deine Änderung noch gilt.',
    managed_key_needed:
      'Die Adresse ändert sich, deshalb bleiben die gespeicherten Geheimnisse nicht. Gib den Schlüssel noch einmal ein.',
    last_owner: 'Mache zuerst eine andere Person zum Inhaber.',
    account_suspended: 'Dieses Konto ist gesperrt. Du kannst es ansehen, aber nicht ändern.',
    account_closed: 'Dieses Konto ist geschlossen. Du kannst es ansehen, aber nicht ändern.',

    not_found: 'Das wurde nicht gefunden.',
    key_not_found: 'In diesem Konto gibt es diesen Schlüssel nicht.',
    request_not_found:
      'In diesem Konto gibt es diese Anfrage nicht. Anfragen, die vor ihrem Beginn abgelehnt wurden, sind nicht aufgeführt.',
    code_not_found: 'Diesen Code gibt es nicht.',
    window_not_found: 'In diesem Konto gibt es dieses Zeitfenster nicht.',
    invalid_cursor: 'Die Liste hat sich geändert. Lade die Seite neu.',
    payments_off: 'Dieser Server nimmt keine Karten. Bitte deinen Betreiber um Guthaben.',
    payment_not_found: 'Diese Zahlung gibt es nicht.',
    too_many_payments:
      'Es wurden zu viele Zahlungen begonnen und nicht abgeschlossen. Schließe eine davon ab oder warte eine Stunde.',
    too_many_invitations:
      'Dieses Konto hat in einer Stunde 100 Einladungen verschickt. Lade weitere Personen in einer Stunde ein.',
    no_saved_card: 'Keine Karte gespeichert. Lade einmal Guthaben auf und wähle, dass die Karte gespeichert wird.',
    no_subscription: 'Dieses Konto hat keinen Tarif.',
    key_revoked: 'Dieser Schlüssel ist widerrufen. Erstelle einen neuen.',
    key_changed:
      'Dieser Schlüssel wurde gerade an anderer Stelle geändert. Nichts wurde gespeichert: Prüfe ihn und versuche es erneut.',
    key_without_secret: 'Der Playground-Schlüssel hat kein Secret, das sich erneuern ließe.',
    too_many_keys:
      'Dieses Konto hat die Höchstzahl an Schlüsseln erreicht. Widerrufe einen, den du nicht mehr brauchst.',
  },
}

export const charts: Catalogue['charts'] = {
  showTable: 'Als Tabelle anzeigen',
  showChart: 'Als Diagramm anzeigen',
  total: 'Summe',
  when: 'Zeit',
  legend: 'Reihen',
  nothing: 'Keine Aktivität in diesem Zeitraum',
  keys: 'Mit den Pfeiltasten wechselst du zwischen den Punkten.',
}
