# Writes the list of users from the secret, and becomes PgBouncer.
set -eu
umask 077
printf '"millrace" "%s"\n' "$(cat /run/secrets/postgres_password)" >/tmp/userlist.txt
exec pgbouncer /etc/pgbouncer/millrace.ini
