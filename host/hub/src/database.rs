//! The database: connections, migrations and partitions. Everything that two replicas share is in
//! it.

use crate::database_tls::DatabaseTls;
use crate::folder::HubConfig;
use crate::standby::{LOOK, Standby};
use anyhow::{Context, Result, bail, ensure};
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use portcullis_core::known_failure::HintedFailure;
use portcullis_network::find_own_address;
use std::future::poll_fn;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};

/// The migrations, each from one version of the tables to the next.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
    include_str!("../migrations/5.sql"),
    include_str!("../migrations/6.sql"),
    include_str!("../migrations/7.sql"),
    include_str!("../migrations/8.sql"),
    include_str!("../migrations/9.sql"),
    include_str!("../migrations/10.sql"),
    include_str!("../migrations/11.sql"),
    include_str!("../migrations/12.sql"),
    include_str!("../migrations/13.sql"),
];
/// The advisory lock for migrations and partitions: `hub` in ASCII.
const LOCK: i64 = 0x0068_7562;
/// Days for which partitions are made ahead: a database whose replicas all stop for less than that
/// needs nobody.
const DAYS_AHEAD: i32 = 14;
/// The time for which a drop of partitions waits for those that read them, in milliseconds: batches
/// that come meanwhile wait behind it.
const DROP_PATIENCE: u32 = 3000;
/// Limits of one statement, of a lock and of a transaction whose hub died, in milliseconds.
const OPTIONS: &str = "-c statement_timeout=20000 -c lock_timeout=15000 \
                       -c idle_in_transaction_session_timeout=30000";
/// The time for a connection, and to wait for a free one.
const PATIENCE: Duration = Duration::from_secs(5);

/// The hub's database.
#[derive(Clone)]
pub struct Database {
    pool: Pool,
    postgres: Config,
    tls: Option<DatabaseTls>,
    standby: Option<Arc<Standby>>,
}

impl Database {
    /// Prepares connections to the configured database; none is made yet.
    pub fn configure(config: &HubConfig) -> Result<Self> {
        let tls = config.database_authority.as_deref().map(DatabaseTls::read).transpose()?;
        let prepare = |key: &str, text: &str| {
            let postgres = read_connection(config, key, text, tls.is_some())?;
            let pool = build_pool(&postgres, tls.as_ref(), config.connections)?;
            Ok::<_, anyhow::Error>((postgres, pool))
        };
        let (postgres, pool) = prepare("database", &config.database)?;
        let standby = match &config.standby {
            None => None,
            Some(text) => {
                let (_, pool) = prepare("standby", text)?;
                Some(Arc::new(Standby::new(pool, config.standby_lag_seconds)))
            }
        };
        Ok(Self { pool, postgres, tls, standby })
    }

    /// Returns a connection for reading what may be some seconds old: to the standby as long as it is
    /// not too far behind, else to the database itself.
    pub async fn connect_reading(&self) -> Result<Object, PoolError> {
        if let Some(standby) = &self.standby
            && let Some(client) = standby.connect().await
        {
            return Ok(client);
        }
        self.connect().await
    }

    /// Looks at the standby again and again, until the process ends; returns at once without one.
    pub async fn keep_standby(&self) {
        let Some(standby) = &self.standby else { return };
        loop {
            if let Some(line) = standby.look(self.connect().await).await {
                crate::report_line(&line);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns a connection.
    pub async fn connect(&self) -> Result<Object, PoolError> {
        self.pool.get().await
    }

    /// Tells the notifications of a channel, on a connection of its own, until that ends; `None`
    /// once they are followed, since some may have been missed before.
    pub async fn follow_channel(
        &self,
        channel: &str,
        tell: impl Fn(Option<String>),
    ) -> Result<(), tokio_postgres::Error> {
        match &self.tls {
            None => follow(self.postgres.connect(NoTls).await?, channel, tell).await,
            Some(tls) => follow(self.postgres.connect(tls.clone()).await?, channel, tell).await,
        }
    }

    /// Brings the tables to this version, and makes partitions. Any number of replicas may do it at
    /// once.
    ///
    /// Fails if a newer version of the hub has been here, or if the database could lose what it
    /// has committed.
    pub async fn prepare_tables(&self) -> Result<()> {
        let mut client = self.connect().await.context("cannot connect to the database")?;
        for setting in ["fsync", "full_page_writes"] {
            let row = client.query_one(&format!("SHOW {setting}"), &[]).await?;
            ensure!(
                row.get::<_, &str>(0) == "on",
                "the database runs with `{setting} = off`, and may lose records that it has \
                 confirmed"
            );
        }
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let exists = "SELECT to_regclass('hub_version') IS NOT NULL";
        let version: i32 = if transaction.query_one(exists, &[]).await?.get(0) {
            transaction.query_one("SELECT version FROM hub_version", &[]).await?.get(0)
        } else {
            let create = "CREATE TABLE hub_version (version integer NOT NULL); \
                          INSERT INTO hub_version VALUES (0)";
            transaction.batch_execute(create).await.context("cannot create tables")?;
            0
        };
        // A migration may move every record that there is.
        transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
        let done = usize::try_from(version).unwrap_or(usize::MAX);
        if done > MIGRATIONS.len() {
            bail!(HintedFailure {
                message: format!(
                    "the database has tables of version {version}, and this hub knows version {}",
                    MIGRATIONS.len()
                ),
                hint: "run the newer version of Portcullis that has been here before".into(),
            });
        }
        for migration in MIGRATIONS.iter().skip(done) {
            transaction.batch_execute(migration).await.context("cannot migrate the tables")?;
        }
        let newest = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
        transaction.execute("UPDATE hub_version SET version = $1", &[&newest]).await?;
        transaction.execute("SELECT make_partitions($1)", &[&DAYS_AHEAD]).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Makes the partitions of the coming days.
    pub async fn make_partitions(&self) -> Result<()> {
        let mut client = self.connect().await?;
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        transaction.execute("SELECT make_partitions($1)", &[&DAYS_AHEAD]).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Drops the partitions whose records are all older than `days`; returns their names.
    pub async fn drop_partitions(&self, days: u32) -> Result<Vec<String>> {
        let mut client = self.connect().await?;
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        transaction.batch_execute(&format!("SET LOCAL lock_timeout = {DROP_PATIENCE}")).await?;
        let days = i32::try_from(days).unwrap_or(i32::MAX);
        let rows = transaction.query("SELECT drop_partitions($1)", &[&days]).await?;
        transaction.commit().await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// Reads a connection string of the configuration, by the key that holds it.
fn read_connection(config: &HubConfig, key: &str, text: &str, has_tls: bool) -> Result<Config> {
    let mut postgres = Config::from_str(text).with_context(|| {
        format!("the connection string `{key}` in `hub.toml` is not understood")
    })?;
    ensure!(
        postgres.get_password().is_none(),
        "the connection string `{key}` in `hub.toml` holds a password: name its place in \
         `password`, as `credential:NAME`, `env:NAME` or `file:PATH`"
    );
    if let Some(password) = &config.password {
        postgres.password(password.read(&config.folder, "password")?);
    }
    postgres.application_name("portcullis-hub").connect_timeout(PATIENCE).options(OPTIONS);
    if has_tls {
        postgres.ssl_mode(SslMode::Require);
    } else {
        refuse_remote(&postgres, key)?;
        postgres.ssl_mode(SslMode::Disable);
    }
    Ok(postgres)
}

fn build_pool(postgres: &Config, tls: Option<&DatabaseTls>, connections: usize) -> Result<Pool> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match tls {
        Some(tls) => Manager::from_config(postgres.clone(), tls.clone(), recycling),
        None => Manager::from_config(postgres.clone(), NoTls, recycling),
    };
    Pool::builder(manager)
        .max_size(connections)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(PATIENCE))
        .create_timeout(Some(PATIENCE))
        .build()
        .context("cannot prepare connections to the database")
}

async fn follow<S, T>(
    (client, mut connection): (Client, Connection<S, T>),
    channel: &str,
    tell: impl Fn(Option<String>),
) -> Result<(), tokio_postgres::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let listen = format!("LISTEN {channel}");
    let mut asked = Box::pin(client.batch_execute(&listen));
    let mut follows = false;
    loop {
        tokio::select! {
            answer = &mut asked, if !follows => {
                answer?;
                follows = true;
                tell(None);
            }
            message = poll_fn(|context| connection.poll_message(context)) => match message {
                Some(Ok(AsyncMessage::Notification(news))) => tell(Some(news.payload().to_owned())),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
        }
    }
}

/// Refuses a database on another machine: without TLS everybody between could read and change what
/// the hub keeps.
fn refuse_remote(postgres: &Config, key: &str) -> Result<()> {
    let remote = postgres.get_hosts().iter().find_map(|host| match host {
        Host::Tcp(name) if find_own_address(name).is_none() => Some(name),
        _ => None,
    });
    match remote {
        None if postgres.get_hosts().is_empty() => {
            bail!("the connection string `{key}` in `hub.toml` names no host")
        }
        None => Ok(()),
        Some(name) => bail!(HintedFailure {
            message: format!("the database at `{name}` would be reached without TLS"),
            hint: "name the authority of its certificate in `database_authority` of `hub.toml`"
                .into(),
        }),
    }
}

/// Returns true if a failure may pass: the database restarts, is too busy, or was cut off.
pub fn is_temporary(error: &tokio_postgres::Error) -> bool {
    let Some(state) = error.code() else { return true };
    ["08", "53", "57", "55", "40", "58"].iter().any(|class| state.code().starts_with(class))
        && *state != SqlState::DATABASE_DROPPED
}
