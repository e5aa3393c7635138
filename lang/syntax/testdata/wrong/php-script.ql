$name = $_GET["name"];
if ($name == "") {
  echo "nobody";
}
